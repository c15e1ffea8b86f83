#include <bits/stdc++.h>
namespace shown_for_tests {
struct Reader {
    std::string text;
    size_t at = 0;
    char next() {
        while (at < text.size() && isspace((unsigned char)text[at])) at++;
        return at < text.size() ? text[at] : 0;
    }
    bool takes(char wanted) {
        if (next() != wanted) return false;
        at++;
        return true;
    }
    void take(char wanted) {
        if (takes(wanted)) return;
        throw std::invalid_argument("the function has other parameters than the case has arguments");
    }
    std::string word() {
        size_t from = (next(), at);
        while (at < text.size() && !strchr(",]}: \n", text[at])) at++;
        if (at == from || text[from] == '"' || text[from] == '[') take(0);
        return text.substr(from, at - from);
    }
    std::string quoted() {
        std::string found;
        take('"');
        while (text[at] != '"') {
            char c = text[at++];
            if (c == '\\') {
                c = text[at++];
                if (c == 'u') { c = char(std::stoi(text.substr(at, 4), nullptr, 16)); at += 4; }
                else if (c == 'n') c = '\n';
                else if (c == 't') c = '\t';
                else if (c == 'r') c = '\r';
                else if (c == 'b') c = '\b';
                else if (c == 'f') c = '\f';
            }
            found += c;
        }
        at++;
        return found;
    }
};
inline void show_text(std::ostream &out, const std::string &text) {
    out << '"';
    for (char c : text) {
        char code[8];
        snprintf(code, sizeof code, "\\u%04x", (unsigned char)c);
        if (c == '"' || c == '\\' || (unsigned char)c < 32) out << code;
        else out << c;
    }
    out << '"';
}
template <class T> struct Plain {
    static T read(Reader &in) {
        if constexpr (std::is_same_v<T, bool>) {
            std::string word = in.word();
            if (word != "true" && word != "false") in.take(0);
            return word == "true";
        } else if constexpr (std::is_same_v<T, char>) {
            std::string text = in.quoted();
            if (text.size() != 1) in.take(0);
            return text[0];
        } else {
            T value{};
            std::string word = in.word();
            const char *end = word.data() + word.size();
            auto [stop, error] = std::from_chars(word.data(), end, value);
            if (stop != end || error != std::errc()) in.take(0);
            return value;
        }
    }
    static void show(std::ostream &out, T value) {
        if constexpr (std::is_same_v<T, bool>) out << (value ? "true" : "false");
        else if constexpr (std::is_same_v<T, char>) show_text(out, {value});
        else if constexpr (!std::is_floating_point_v<T>) out << +value;
        else if (std::isnan(value)) out << "NaN";
        else if (std::isinf(value)) out << (value < 0 ? "-Infinity" : "Infinity");
        else out << std::setprecision(17) << double(value);
    }
};
template <> struct Plain<std::string> {
    static std::string read(Reader &in) { return in.quoted(); }
    static void show(std::ostream &out, const std::string &text) { show_text(out, text); }
};
template <class All> struct Many {
    static All read(Reader &in) {
        All all;
        in.take('[');
        while (!in.takes(']')) {
            if (!all.empty()) in.take(',');
            all.insert(all.end(), Plain<typename All::value_type>::read(in));
        }
        return all;
    }
    static void show(std::ostream &out, const All &all) {
        out << '[';
        bool first = true;
        for (const auto &item : all) {
            if (!first) out << ',';
            first = false;
            Plain<typename All::value_type>::show(out, item);
        }
        out << ']';
    }
};
template <> struct Plain<std::string_view> {
    static std::string_view read(Reader &in) { return *new std::string(in.quoted()); }
    static void show(std::ostream &out, std::string_view text) { show_text(out, std::string(text)); }
};
template <class T> struct Plain<std::optional<T>> {
    static std::optional<T> read(Reader &in) {
        if (in.next() != 'n') return Plain<T>::read(in);
        if (in.word() != "null") in.take(0);
        return std::nullopt;
    }
    static void show(std::ostream &out, const std::optional<T> &value) {
        if (value) Plain<T>::show(out, *value);
        else out << "null";
    }
};
template <class T> struct Plain<std::vector<T>> : Many<std::vector<T>> {};
template <class T> struct Plain<std::set<T>> : Many<std::set<T>> {};
template <class T> struct Plain<std::unordered_set<T>> : Many<std::unordered_set<T>> {};
template <class T> struct Plain<std::multiset<T>> : Many<std::multiset<T>> {};
template <class T> struct Plain<std::unordered_multiset<T>> : Many<std::unordered_multiset<T>> {};
template <class T> struct Plain<std::deque<T>> : Many<std::deque<T>> {};
template <class T> struct Plain<std::list<T>> : Many<std::list<T>> {};
template <class Node, class = void> struct IsLinked : std::false_type {};
template <class Node> struct IsLinked<Node, std::void_t<decltype(Node::next)>> : std::true_type {};
// A node of LeetCode's: a linked list is a list, and a tree its values level by level.
template <class Node> struct Plain<Node *> {
    using Value = decltype(Node::val);
    static Node *read_one(Reader &in) {
        if (in.next() != 'n') return new Node{Plain<Value>::read(in)};
        if (in.word() != "null") in.take(0);
        return nullptr;
    }
    static Node *read(Reader &in) {
        std::vector<Node *> all;
        in.take('[');
        while (!in.takes(']')) {
            if (!all.empty()) in.take(',');
            all.push_back(read_one(in));
        }
        if (all.empty()) return nullptr;
        size_t free = 1;
        for (Node *node : all) {
            if constexpr (IsLinked<Node>::value) {
                if (node == nullptr) in.take(0);
                if (free < all.size()) node->next = all[free++];
            } else if (node != nullptr) {
                if (free < all.size()) node->left = all[free++];
                if (free < all.size()) node->right = all[free++];
            }
        }
        return all[0];
    }
    static void show(std::ostream &out, const Node *first) {
        std::vector<const Node *> all;
        if (first != nullptr) all.push_back(first);
        for (size_t at = 0; at < all.size(); at++) {
            if constexpr (IsLinked<Node>::value) {
                if (all[at]->next != nullptr) all.push_back(all[at]->next);
            } else if (all[at] != nullptr) {
                all.push_back(all[at]->left);
                all.push_back(all[at]->right);
            }
        }
        while (!all.empty() && all.back() == nullptr) all.pop_back();
        out << '[';
        for (size_t at = 0; at < all.size(); at++) {
            if (at > 0) out << ',';
            if (all[at] == nullptr) out << "null";
            else Plain<Value>::show(out, all[at]->val);
        }
        out << ']';
    }
};
template <class T, size_t N> struct Plain<std::array<T, N>> : Many<std::array<T, N>> {
    static std::array<T, N> read(Reader &in) {
        std::array<T, N> all;
        in.take('[');
        for (size_t at = 0; at < N; at++) {
            if (at > 0) in.take(',');
            all[at] = Plain<T>::read(in);
        }
        in.take(']');
        return all;
    }
};
// Reads values of several types that have commas between them.
struct Several {
    Reader &in;
    size_t number = 0;
    template <class T> T read() {
        if (number++ > 0) in.take(',');
        return Plain<T>::read(in);
    }
};
template <class All, class... T> struct Fixed {
    static All read(Reader &in) {
        in.take('[');
        Several several{in};
        All all{several.read<T>()...};
        in.take(']');
        return all;
    }
    static void show(std::ostream &out, const All &all) {
        const char *between = "[";
        auto item = [&](const auto &each) {
            out << between;
            between = ",";
            Plain<std::decay_t<decltype(each)>>::show(out, each);
        };
        std::apply([&](const auto &...each) { (item(each), ...); }, all);
        out << ']';
    }
};
template <class A, class B> struct Plain<std::pair<A, B>> : Fixed<std::pair<A, B>, A, B> {};
template <class... T> struct Plain<std::tuple<T...>> : Fixed<std::tuple<T...>, T...> {};
template <class T>
constexpr bool is_text = std::is_convertible_v<T, std::string_view> || std::is_same_v<T, char>;
template <class A, class B> struct Plain<std::map<A, B>> {
    static std::map<A, B> read(Reader &in) {
        std::map<A, B> all;
        in.take('{');
        while (!in.takes('}')) {
            if (!all.empty()) in.take(',');
            std::string key = in.quoted();
            in.take(':');
            std::ostringstream text;
            if constexpr (is_text<A>) show_text(text, key);
            else text << key;
            Reader inner{text.str()};
            all[Plain<A>::read(inner)] = Plain<B>::read(in);
        }
        return all;
    }
    static void show(std::ostream &out, const std::map<A, B> &all) {
        out << '{';
        bool first = true;
        for (const auto &[key, value] : all) {
            if (!first) out << ',';
            first = false;
            std::ostringstream name;
            if constexpr (is_text<A>) name << key;
            else Plain<A>::show(name, key);
            show_text(out, name.str());
            out << ':';
            Plain<B>::show(out, value);
        }
        out << '}';
    }
};
template <class A, class B> struct Plain<std::unordered_map<A, B>> {
    static std::unordered_map<A, B> read(Reader &in) {
        auto all = Plain<std::map<A, B>>::read(in);
        return {all.begin(), all.end()};
    }
    static void show(std::ostream &out, const std::unordered_map<A, B> &all) {
        Plain<std::map<A, B>>::show(out, {all.begin(), all.end()});
    }
};
// Not by std::cout, since the submission may have changed its format or its buffer.
inline void line(const char *mark, const std::string &text) {
    std::cout.flush();
    std::string all = mark + text + "\n";
    fwrite(all.data(), 1, all.size(), stdout);
    fflush(stdout);
}
template <class R, class... A, class F> void call(const char *mark, F called) {
    Reader in{{std::istreambuf_iterator<char>(std::cin), {}}};
    in.take('[');
    Several several{in};
    std::tuple<std::decay_t<A>...> given{several.read<std::decay_t<A>>()...};
    in.take(']');
    auto run = [&](auto &...each) -> R { return called(static_cast<A>(each)...); };
    if constexpr (std::is_void_v<R>) {
        std::apply(run, given);
        line(mark, "null");
    } else {
        std::decay_t<R> value = std::apply(run, given);
        std::ostringstream out;
        out.imbue(std::locale::classic());
        Plain<std::decay_t<R>>::show(out, value);
        line(mark, out.str());
    }
}
template <class R, class A, class F, size_t... I>
void call_with_first(const char *mark, F called, std::index_sequence<I...>) {
    // Others may have defaults.
    if constexpr (std::is_invocable_v<F, std::tuple_element_t<I, A>...>) {
        call<R, std::tuple_element_t<I, A>...>(mark, called);
    } else {
        throw std::invalid_argument("the function has other parameters than the case has arguments");
    }
}
template <class R, class... A> struct Signature {
    template <size_t count, class F> static void with(const char *mark, F called) {
        if constexpr (count < sizeof...(A)) {
            call_with_first<R, std::tuple<A...>>(mark, called, std::make_index_sequence<count>());
        } else {
            call<R, A...>(mark, called);
        }
    }
};
template <class R, class... A> Signature<R, A...> any(R (*)(A...));
template <class R, class C, class... A> Signature<R, A...> any(R (C::*)(A...));
template <class R, class C, class... A> Signature<R, A...> any(R (C::*)(A...) const);
template <class F> auto chosen(F called) -> decltype(any(called));
}
using namespace std;
#define main main_of_the_answer
#line 1 "solution.cpp"
