#include <bits/stdc++.h>

namespace shown_for_tests {
using std::ostream;
template <class T> void show(ostream &out, const std::vector<T> &all);
template <class T> void show(ostream &out, const std::optional<T> &value);
template <class A, class B> void show(ostream &out, const std::pair<A, B> &both);
template <class... T> void show(ostream &out, const std::tuple<T...> &all);
template <class A, class B> void show(ostream &out, const std::map<A, B> &all);
template <class A, class B> void show(ostream &out, const std::unordered_map<A, B> &all);
template <class T> void show(ostream &out, const std::set<T> &all);
template <class T> void show(ostream &out, const std::list<T> &all);
template <class T> void show(ostream &out, const std::deque<T> &all);
template <class T> void show(ostream &out, const std::multiset<T> &all);
template <class T> void show(ostream &out, const std::unordered_set<T> &all);
template <class T, size_t n> void show(ostream &out, const std::array<T, n> &all);
inline void show(ostream &out, bool value) { out << value; }  // As a number, which it equals.
inline void show(ostream &out, char value) { out << int(value); }
inline void show(ostream &out, const std::nullopt_t &) { out << "nullopt"; }
inline void show(ostream &out, std::string_view text) {
    out << '"';
    for (char c : text) {
        if (c == '\n') out << "\\n";
        else if (c == '"' || c == '\\') out << '\\' << c;
        else out << c;
    }
    out << '"';
}
inline void show(ostream &out, const std::string &text) { show(out, std::string_view(text)); }
inline void show(ostream &out, const char *text) { show(out, std::string_view(text)); }
template <class T> std::enable_if_t<std::is_integral_v<T>> show(ostream &out, T value) {
    out << +value;  // A number even if it is a byte.
}
template <class T> std::enable_if_t<std::is_floating_point_v<T>> show(ostream &out, T value) {
    out << std::setprecision(17) << double(value == 0 ? 0 : value);  // The two zeros are equal.
}
template <class All> void show_all(ostream &out, const All &all) {
    out << '[';
    for (const auto &item : all) { show(out, item); out << ", "; }
    out << ']';
}
template <class T> void show(ostream &out, const std::vector<T> &all) {
    out << '[';
    for (size_t i = 0; i < all.size(); i++) { show(out, T(all[i])); out << ", "; }
    out << ']';
}
template <class T> void show(ostream &out, const std::optional<T> &value) {
    if (value) show(out, *value); else show(out, std::nullopt);
}
template <class A, class B> void show(ostream &out, const std::pair<A, B> &both) {
    out << '('; show(out, both.first); out << ", "; show(out, both.second); out << ')';
}
template <class... T> void show(ostream &out, const std::tuple<T...> &all) {
    out << '(';
    std::apply([&](const auto &...item) { ((show(out, item), out << ", "), ...); }, all);
    out << ')';
}
template <class A, class B> void show(ostream &out, const std::map<A, B> &all) {
    show_all(out, all);
}
template <class A, class B> void show(ostream &out, const std::unordered_map<A, B> &all) {
    show(out, std::map<A, B>(all.begin(), all.end()));
}
template <class T> void show(ostream &out, const std::set<T> &all) { show_all(out, all); }
template <class T> void show(ostream &out, const std::list<T> &all) { show_all(out, all); }
template <class T> void show(ostream &out, const std::deque<T> &all) { show_all(out, all); }
template <class T> void show(ostream &out, const std::multiset<T> &all) { show_all(out, all); }
template <class T> void show(ostream &out, const std::unordered_set<T> &all) {
    show_all(out, std::set<T>(all.begin(), all.end()));
}
template <class T, size_t n> void show(ostream &out, const std::array<T, n> &all) {
    show_all(out, all);
}
template <class T> auto show(ostream &out, const T &value) -> decltype(void(value.for_tests)) {
    out << value.for_tests;
}
template <class T> std::string text(const T &value) {
    std::ostringstream out;
    show(out, value);
    return out.str();
}
template <class T> std::decay_t<T> as(std::decay_t<T> value) { return value; }
template <class T> void line(const char *start, const T &value) {
    std::cout << start;
    show(std::cout, value);
    std::cout << std::endl;
}
}
