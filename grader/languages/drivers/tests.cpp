#define EXERCISM_RUN_ALL_TESTS
namespace shown_for_tests {
struct anything {};
template <class T, class Body> bool throws(Body body) {
    if constexpr (std::is_same_v<T, anything>) {
        try { body(); } catch (...) { return true; }
    } else {
        // Another error ends the test.
        try { body(); } catch (const T &) { return true; }
    }
    return false;
}
static bool has_failed = false;
static void run(void (*test)()) {
    try {
        test();
    } catch (const std::exception &error) {
        has_failed = true;
        std::cerr << "terminate called\n  what():  " << error.what() << std::endl;
    } catch (...) {
        has_failed = true;
        std::cerr << "terminate called\n  what():  no exception of the library" << std::endl;
    }
}
}
#line 1 "tests.cpp"
