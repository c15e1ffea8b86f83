// Lets checkers and interactors that were written for testlib be compiled without it.
//
// It has the names that testlib documents, for programs of these two kinds, and was written for this
// project. What is missing: validators, options of generators, random texts, and testlib's own random
// numbers.
//
// A stream of the submission ends the program with exit code 2 if it holds something else than what
// is read. A stream of the suite (input, answer) ends it with exit code 3: then the suite is wrong.

#ifndef GRADER_TESTLIB_H
#define GRADER_TESTLIB_H

#include <bits/stdc++.h>

#include <fcntl.h>
#include <unistd.h>

enum TResult {
    _ok = 0,
    _wa = 1,
    _pe = 2,
    _fail = 3,
    _dirt = 4,
    _points = 5,
    _sv = 6,
    _unexpected_eof = 8,
    _partially = 16
};
enum TMode { _input, _output, _answer };
enum TTestlibMode { _unknown, _checker, _interactor, _generator };

#define _pc(percent) (TResult(_partially + (percent)))

const char LF = '\n', CR = '\r', TAB = '\t', SPACE = ' ';
const int EOFC = 255;

// ---------------------------------------------------------------- texts

#define GRADER_PRINTF(text, arguments) __attribute__((format(printf, text, arguments)))

inline std::string grader_format(const char *form, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int size = vsnprintf(nullptr, 0, form, again);
    va_end(again);
    std::string text(size < 0 ? 0 : size + 1, '\0');
    if (size >= 0) vsnprintf(&text[0], text.size(), form, arguments), text.pop_back();
    return text;
}

#define GRADER_FORMAT(form, text)              \
    va_list grader_arguments;                  \
    va_start(grader_arguments, form);          \
    std::string text = grader_format(form, grader_arguments); \
    va_end(grader_arguments)

GRADER_PRINTF(1, 2) inline std::string format(const char *form, ...) {
    GRADER_FORMAT(form, text);
    return text;
}

inline std::string format(const std::string form, ...) {
    va_list arguments;
    va_start(arguments, form);
    std::string text = grader_format(form.c_str(), arguments);
    va_end(arguments);
    return text;
}

template <class T> std::string toString(const T &value) {
    std::ostringstream out;
    out << std::boolalpha << value;
    return out.str();
}
template <class T> std::string vtos(const T &value) { return toString(value); }

// A text of at most 64 characters.
inline std::string compress(const std::string &text) {
    return text.size() <= 64 ? text : text.substr(0, 30) + "..." + text.substr(text.size() - 31);
}

inline std::string englishEnding(int number) {
    if (number / 10 % 10 != 1) {
        if (number % 10 == 1) return "st";
        if (number % 10 == 2) return "nd";
        if (number % 10 == 3) return "rd";
    }
    return "th";
}

inline bool isBlanks(char c) { return c == LF || c == CR || c == TAB || c == SPACE; }
inline bool isEof(int c) { return c == EOFC; }
inline bool isEoln(char c) { return c == LF || c == CR; }

inline std::string upperCase(std::string text) {
    for (char &c : text) c = char(toupper((unsigned char)c));
    return text;
}
inline std::string lowerCase(std::string text) {
    for (char &c : text) c = char(tolower((unsigned char)c));
    return text;
}
inline std::string trim(const std::string &text) {
    std::size_t first = 0, last = text.size();
    while (first < last && isBlanks(text[first])) first++;
    while (first < last && isBlanks(text[last - 1])) last--;
    return text.substr(first, last - first);
}

// The parts between separators, empty ones too.
inline std::vector<std::string> split(const std::string &text, const std::string &separators) {
    std::vector<std::string> parts(1);
    for (char c : text) {
        if (separators.find(c) == std::string::npos) parts.back() += c;
        else parts.emplace_back();
    }
    return parts;
}
inline std::vector<std::string> split(const std::string &text, char separator) {
    return split(text, std::string(1, separator));
}
// The parts between separators that are not empty.
inline std::vector<std::string> tokenize(const std::string &text, const std::string &separators) {
    std::vector<std::string> parts;
    for (const std::string &part : split(text, separators))
        if (!part.empty()) parts.push_back(part);
    return parts;
}
inline std::vector<std::string> tokenize(const std::string &text, char separator) {
    return tokenize(text, std::string(1, separator));
}
template <class Iterator>
std::string join(Iterator first, Iterator last, const std::string &separator = " ") {
    std::ostringstream out;
    for (Iterator each = first; each != last; ++each) {
        if (each != first) out << separator;
        out << *each;
    }
    return out.str();
}
template <class Iterator> std::string join(Iterator first, Iterator last, char separator) {
    return join(first, last, std::string(1, separator));
}
template <class Items> std::string join(const Items &items, const std::string &separator = " ") {
    return join(items.begin(), items.end(), separator);
}
template <class Items> std::string join(const Items &items, char separator) {
    return join(items, std::string(1, separator));
}

// ---------------------------------------------------------------- patterns

// A regular expression of characters, `[...]`, `(...|...)`, `?`, `*`, `+` and `{...}`. A backslash
// takes the meaning off a character; a blank without one matches nothing.
class pattern {
public:
    pattern(const std::string &source) {
        std::size_t at = 0;
        for (std::size_t i = 0; i < source.size(); i++) {
            if (source[i] == SPACE) continue;
            text += source[i];
            if (source[i] == '\\' && i + 1 < source.size()) text += source[++i];
        }
        root = alternatives(at);
        if (at != text.size()) bad("a bracket too many");
    }

    bool matches(const std::string &value) const {
        return ends(root, value, {0}).count(value.size()) > 0;
    }

    std::string src() const { return text; }

private:
    // Its kind is `c` (one of `chars`), `s` (the items in order), `a` (one of the items) or `r`
    // (the item, from `least` to `most` times).
    struct Node {
        char kind;
        std::bitset<256> chars;
        std::vector<Node> items;
        std::size_t least, most;
    };
    typedef std::set<std::size_t> Places;

    std::string text;
    Node root;

    [[noreturn]] void bad(const char *what) const;

    Node alternatives(std::size_t &at) const {
        Node either{'a', {}, {}, 0, 0};
        while (true) {
            Node items{'s', {}, {}, 0, 0};
            while (at < text.size() && text[at] != '|' && text[at] != ')')
                items.items.push_back(repeated(at));
            either.items.push_back(items);
            if (at == text.size() || text[at] == ')') return either;
            at++;
        }
    }

    Node repeated(std::size_t &at) const {
        Node item = one(at);
        while (at < text.size() && strchr("?*+{", text[at])) {
            const std::size_t any = std::string::npos;
            std::size_t least = text[at] == '+', most = text[at] == '?' ? 1 : any;
            if (text[at++] == '{') {
                least = number(at);
                most = least;
                if (at < text.size() && text[at] == ',') {
                    at++;
                    most = at < text.size() && text[at] == '}' ? any : number(at);
                }
                if (at == text.size() || text[at++] != '}') bad("a { without }");
            }
            item = Node{'r', {}, {item}, least, most};
        }
        return item;
    }

    std::size_t number(std::size_t &at) const {
        std::size_t value = 0, first = at;
        while (at < text.size() && isdigit((unsigned char)text[at]) && at - first < 9)
            value = value * 10 + (text[at++] - '0');
        if (at == first) bad("a { without a number");
        return value;
    }

    unsigned char escaped(std::size_t &at) const {
        if (text[at] == '\\') at++;
        if (at >= text.size()) bad("nothing after a backslash");
        return (unsigned char)text[at++];
    }

    Node one(std::size_t &at) const {
        if (text[at] == '(') {
            Node group = alternatives(++at);
            if (at == text.size()) bad("a ( without )");
            at++;
            return group;
        }
        Node item{'c', {}, {}, 0, 0};
        if (text[at] == '.') {
            at++;
            item.chars.set();
            return item;
        }
        if (text[at] != '[') {
            item.chars.set(escaped(at));
            return item;
        }
        bool others = ++at < text.size() && text[at] == '^';
        at += others;
        while (at < text.size() && text[at] != ']') {
            int first = escaped(at), last = first;
            if (at + 1 < text.size() && text[at] == '-' && text[at + 1] != ']') last = escaped(++at);
            for (int c = first; c <= last; c++) item.chars.set(c);
        }
        if (at == text.size()) bad("a [ without ]");
        at++;
        if (others) item.chars.flip();
        return item;
    }

    // Where matches can end that begin at some places.
    static Places ends(const Node &node, const std::string &value, const Places &starts) {
        Places found;
        if (node.kind == 'c') {
            for (std::size_t at : starts)
                if (at < value.size() && node.chars[(unsigned char)value[at]]) found.insert(at + 1);
        } else if (node.kind == 'a') {
            for (const Node &item : node.items) {
                Places more = ends(item, value, starts);
                found.insert(more.begin(), more.end());
            }
        } else if (node.kind == 's') {
            found = starts;
            for (const Node &item : node.items) found = ends(item, value, found);
        } else {
            Places now = starts;
            for (std::size_t times = 0; !now.empty(); times++) {
                if (times >= node.least) {
                    Places fresh;
                    for (std::size_t at : now)
                        if (found.insert(at).second) fresh.insert(at);
                    now = fresh;
                }
                if (times == node.most || now.empty()) break;
                now = ends(node.items[0], value, now);
            }
        }
        return found;
    }
};

// ---------------------------------------------------------------- the verdict

struct InStream;

struct GraderProgram {
    TTestlibMode mode = _unknown;
    std::string name, test;
    int report = -1;
    bool has_decided = false;

    // A program that ends without a verdict has none, whatever its exit code is.
    ~GraderProgram() {
        if (mode == _unknown || mode == _generator || has_decided) return;
        std::fputs("FAIL the program ended without quitf\n", stderr);
        std::fflush(stderr);
        _exit(_fail);
    }
};

inline GraderProgram &grader_program() {
    static GraderProgram program;
    return program;
}

inline void setName(const char *form, ...) GRADER_PRINTF(1, 2);
inline void setName(const char *form, ...) {
    GRADER_FORMAT(form, text);
    grader_program().name = text;
}
inline void setTestCase(int number) {
    grader_program().test = "test case " + toString(number) + ": ";
}
inline void unsetTestCase() { grader_program().test.clear(); }

[[noreturn]] inline void grader_end(int code, const std::string &words) {
    GraderProgram &program = grader_program();
    program.has_decided = true;
    std::string line = words + "\n";
    std::fflush(stdout);
    std::cout.flush();
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
    if (program.report >= 0 && write(program.report, line.data(), line.size()) < 0) code = _fail;
    std::exit(code);
}

struct InStream {
    TMode mode = _input;
    bool strict = false;
    std::string name;

    InStream() {}
    InStream(const InStream &like, const std::string &content)
        : mode(like.mode), name(like.name), is_open(true), buffer(content), has_ended(true) {}

    void init(const std::string &path, TMode kind) {
        mode = kind;
        name = path;
        descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        is_open = descriptor >= 0;
        static const char *const roles[] = {"Input", "Output", "Answer"};
        if (!is_open)
            grader_end(
                kind == _output ? _pe : _fail,
                (kind == _output ? "wrong output format " : "FAIL ") + std::string(roles[kind]) +
                    " file not found: \"" + path + "\"");
        skipBom();
    }
    void init(std::FILE *file, TMode kind) {
        mode = kind;
        descriptor = fileno(file);
        is_open = true;
    }
    void close() {}

    // ------------------------------------------------------------ verdicts

    [[noreturn]] void quit(TResult result, const std::string &words) {
        GraderProgram &program = grader_program();
        // Whatever is wrong with a file of the suite is not the submission's fault.
        bool is_refusal = result != _ok && (result < _points || result == _unexpected_eof);
        if (mode != _output && is_refusal) result = _fail;
        // Nor may the submission add anything to a right answer.
        if (result == _ok && program.mode == _checker) require_end();
        const std::string said = program.test + words;
        if (result >= _partially) {
            if (result > _partially + 100) grader_end(_fail, "FAIL _pc takes 0 to 100: " + said);
            share((result - _partially) / 100.0, said);
        }
        switch (result) {
            case _ok: grader_end(0, "ok " + said);
            case _wa: grader_end(1, "wrong answer " + said);
            case _pe:
            case _dirt:
            case _unexpected_eof: grader_end(2, "wrong output format " + said);
            case _points: grader_end(7, said);
            default: grader_end(3, "FAIL " + said);
        }
    }
    GRADER_PRINTF(3, 4) [[noreturn]] void quitf(TResult result, const char *form, ...) {
        GRADER_FORMAT(form, text);
        quit(result, text);
    }
    GRADER_PRINTF(4, 5) void quitif(bool condition, TResult result, const char *form, ...) {
        if (!condition) return;
        GRADER_FORMAT(form, text);
        quit(result, text);
    }
    [[noreturn]] void quits(TResult result, const std::string &words) { quit(result, words); }
    GRADER_PRINTF(3, 4) void ensuref(bool condition, const char *form, ...) {
        if (condition) return;
        GRADER_FORMAT(form, text);
        quit(_wa, text);
    }
    [[noreturn]] static void share(double value, const std::string &words) {
        grader_end(7, "points " + format("%.10g", value) + " " + words);
    }

    // ------------------------------------------------------------ characters

    int curChar() { return fill() ? (unsigned char)buffer[at] : EOFC; }
    int nextChar() {
        int c = curChar();
        if (at < buffer.size()) at++;
        return c;
    }
    int readChar() { return nextChar(); }
    char readChar(char wanted) {
        int found = nextChar();
        if (found != (unsigned char)wanted)
            quit(_pe, std::string("Unexpected character instead of '") + wanted + "'");
        return wanted;
    }
    char readSpace() { return readChar(SPACE); }
    void unreadChar(char c) {
        if (at > 0) buffer[--at] = c;
        else buffer.insert(buffer.begin(), c);
    }
    void skipChar() { nextChar(); }
    void skipBom() {
        if (fill() && buffer.compare(at, 3, "\xEF\xBB\xBF") == 0) at += 3;
    }
    void skipBlanks() {
        while (fill() && isBlanks(buffer[at])) at++;
    }

    bool eof() { return !fill(); }
    bool seekEof() {
        skipBlanks();
        return eof();
    }
    bool eoln() {
        return eof() || buffer[at] == LF ||
               (buffer[at] == CR && look(1) == LF);
    }
    bool seekEoln() {
        while (fill() && (buffer[at] == SPACE || buffer[at] == TAB)) at++;
        return eoln();
    }
    void readEof() {
        if (!seekEof()) quit(_pe, "Expected EOF");
    }
    void readEoln() {
        if (!eoln()) quit(_pe, "Expected EOLN");
        nextLine();
    }
    void nextLine() {
        while (fill() && buffer[at] != LF) at++;
        if (fill()) at++;
    }

    // ------------------------------------------------------------ texts

    std::string readToken() {
        skipBlanks();
        if (eof()) quit(_unexpected_eof, "Unexpected end of file - token expected");
        std::string token;
        while (fill() && !isBlanks(buffer[at])) token += buffer[at++];
        return token;
    }
#define GRADER_TEXTS(one, several, oneTo)                                                         \
    void oneTo(std::string &found) { found = one(); }                                             \
    template <class Form>                                                                         \
    void oneTo(std::string &found, const Form &form, const std::string &what = "") {              \
        found = one(form, what);                                                                  \
    }                                                                                             \
    std::vector<std::string> several(int count, int = 1) {                                        \
        std::vector<std::string> values;                                                          \
        for (int i = 0; i < count; i++) values.push_back(one());                                  \
        return values;                                                                            \
    }                                                                                             \
    template <class Form>                                                                         \
    auto several(int count, const Form &form, const std::string &what = "", int = 1)              \
        ->typename std::enable_if<!std::is_arithmetic<Form>::value, std::vector<std::string>>::type { \
        std::vector<std::string> values;                                                          \
        for (int i = 0; i < count; i++) values.push_back(one(form, what));                        \
        return values;                                                                            \
    }
    GRADER_TEXTS(readToken, readTokens, readTokenTo)
    GRADER_TEXTS(readWord, readWords, readWordTo)
    GRADER_TEXTS(readLine, readLines, readLineTo)
    GRADER_TEXTS(readString, readStrings, readStringTo)
#undef GRADER_TEXTS

    std::string readToken(const pattern &form, const std::string &what = "") {
        return matching(readToken(), form, what, "Token");
    }
    std::string readToken(const std::string &form, const std::string &what = "") {
        return readToken(pattern(form), what);
    }
    std::string readWord() { return readToken(); }
    std::string readWord(const pattern &form, const std::string &what = "") {
        return readToken(form, what);
    }
    std::string readWord(const std::string &form, const std::string &what = "") {
        return readToken(form, what);
    }

    std::string readLine() {
        if (eof()) quit(_unexpected_eof, "Expected line");
        std::string line;
        while (fill() && buffer[at] != LF) line += buffer[at++];
        if (!line.empty() && line.back() == CR) line.pop_back();
        if (fill()) at++;
        return line;
    }
    std::string readLine(const pattern &form, const std::string &what = "") {
        return matching(readLine(), form, what, "Line");
    }
    std::string readLine(const std::string &form, const std::string &what = "") {
        return readLine(pattern(form), what);
    }
    std::string readString() { return readLine(); }
    std::string readString(const pattern &form, const std::string &what = "") {
        return readLine(form, what);
    }
    std::string readString(const std::string &form, const std::string &what = "") {
        return readLine(form, what);
    }

    // ------------------------------------------------------------ numbers

    long long readLong() { return to_integer(readToken()); }
    long long readLong(long long least, long long most, const std::string &what = "") {
        return within(readLong(), least, most, what, "Integer");
    }
    unsigned long long readUnsignedLong() { return to_unsigned(readToken()); }
    unsigned long long readUnsignedLong(
        unsigned long long least, unsigned long long most, const std::string &what = "") {
        return within(readUnsignedLong(), least, most, what, "Unsigned integer");
    }
    int readInt() {
        std::string token = readToken();
        long long value = to_integer(token);
        if (value < INT_MIN || value > INT_MAX)
            quit(_pe, "Expected int32, but \"" + compress(token) + "\" found");
        return int(value);
    }
    int readInt(int least, int most, const std::string &what = "") {
        return within(readInt(), least, most, what, "Integer");
    }
    int readInteger() { return readInt(); }
    int readInteger(int least, int most, const std::string &what = "") {
        return readInt(least, most, what);
    }
    double readDouble() { return to_double(readToken()); }
    double readDouble(double least, double most, const std::string &what = "") {
        return within(readDouble(), least, most, what, "Double");
    }
    double readReal() { return readDouble(); }
    double readReal(double least, double most, const std::string &what = "") {
        return readDouble(least, most, what);
    }
    double readStrictDouble(
        double least, double most, int fewest, int digits, const std::string &what = "") {
        double value = to_strict_double(readToken(), fewest, digits);
        return within(value, least, most, what, "Strict double");
    }
    double readStrictReal(
        double least, double most, int fewest, int digits, const std::string &what = "") {
        return readStrictDouble(least, most, fewest, digits, what);
    }

#define GRADER_SEVERAL(several, one, type)                                                        \
    std::vector<type> several(                                                                    \
        int count, type least, type most, const std::string &what = "", int = 1) {                \
        std::vector<type> values;                                                                 \
        for (int i = 0; i < count; i++) values.push_back(one(least, most, what));                 \
        return values;                                                                            \
    }                                                                                             \
    std::vector<type> several(int count, int = 1) {                                               \
        std::vector<type> values;                                                                 \
        for (int i = 0; i < count; i++) values.push_back(one());                                  \
        return values;                                                                            \
    }
    GRADER_SEVERAL(readInts, readInt, int)
    GRADER_SEVERAL(readIntegers, readInteger, int)
    GRADER_SEVERAL(readLongs, readLong, long long)
    GRADER_SEVERAL(readUnsignedLongs, readUnsignedLong, unsigned long long)
    GRADER_SEVERAL(readDoubles, readDouble, double)
    GRADER_SEVERAL(readReals, readReal, double)
#undef GRADER_SEVERAL
    std::vector<double> readStrictDoubles(
        int count, double least, double most, int fewest, int digits, const std::string &what = "",
        int = 1) {
        std::vector<double> values;
        for (int i = 0; i < count; i++)
            values.push_back(readStrictDouble(least, most, fewest, digits, what));
        return values;
    }
    std::vector<double> readStrictReals(
        int count, double least, double most, int fewest, int digits, const std::string &what = "",
        int = 1) {
        return readStrictDoubles(count, least, most, fewest, digits, what);
    }

    // Integers have one form only: no plus sign, no zero in front, no minus before zero.
    long long to_integer(const std::string &token) {
        bool minus = !token.empty() && token[0] == '-';
        const unsigned long long most = LLONG_MAX;
        unsigned long long value = 0;
        if (!digits(token, minus, value) || value > most + minus || (minus && value == 0))
            quit(_pe, "Expected integer, but \"" + compress(token) + "\" found");
        return minus ? (long long)(0 - value) : (long long)value;
    }
    unsigned long long to_unsigned(const std::string &token) {
        unsigned long long value = 0;
        if (!digits(token, false, value))
            quit(_pe, "Expected unsigned integer, but \"" + compress(token) + "\" found");
        return value;
    }
    // The same is true of strict doubles, which have no exponent either.
    double to_strict_double(const std::string &token, int fewest, int digits) {
        std::string form = "-?(0|[1-9][0-9]*)";
        if (digits > 0)
            form += format("(\\.[0-9]{%d,%d})", std::max(fewest, 1), digits) + (fewest > 0 ? "" : "?");
        bool is_strict = pattern(form).matches(token);
        if (!is_strict || (token[0] == '-' && to_double(token) == 0))
            quit(_pe, "Expected strict double, but \"" + compress(token) + "\" found");
        return to_double(token);
    }
    double to_double(const std::string &token) {
        const char *first = token.c_str();
        char *end = nullptr;
        bool is_plain = token.find_first_not_of("+-.0123456789eE") == std::string::npos;
        double value = std::strtod(first, &end);
        if (!is_plain || token.empty() || end != first + token.size() || !std::isfinite(value))
            quit(_pe, "Expected double, but \"" + compress(token) + "\" found");
        return value;
    }

private:
    bool is_open = false;
    int descriptor = -1;
    std::string buffer;
    std::size_t at = 0;
    bool has_ended = false;

    // Makes sure that there is a character at `at`, and tells whether there is.
    bool fill() { return look(0) != -1; }

    int look(std::size_t ahead) {
        while (at + ahead >= buffer.size() && !has_ended && is_open) {
            if (at > (1 << 16)) buffer.erase(0, at), at = 0;
            char block[1 << 16];
            ssize_t count;
            do count = read(descriptor, block, sizeof block);
            while (count < 0 && errno == EINTR);
            if (count <= 0) has_ended = true;
            else buffer.append(block, count);
        }
        return at + ahead < buffer.size() ? (unsigned char)buffer[at + ahead] : -1;
    }

    static bool digits(const std::string &token, bool minus, unsigned long long &value) {
        std::size_t count = token.size() - minus;
        if (count == 0 || count > 20 || (count > 1 && token[minus] == '0')) return false;
        for (std::size_t i = minus; i < token.size(); i++) {
            if (token[i] < '0' || token[i] > '9') return false;
            unsigned digit = token[i] - '0';
            if (value > (ULLONG_MAX - digit) / 10) return false;
            value = value * 10 + digit;
        }
        return true;
    }

    template <class T>
    T within(T value, T least, T most, const std::string &what, const char *kind) {
        if (value < least || value > most)
            quit(
                _wa, std::string(kind) + (what.empty() ? "" : " parameter [name=" + what + "]") +
                         " equals to " + toString(value) + ", violates the range [" +
                         toString(least) + ", " + toString(most) + "]");
        return value;
    }

    std::string matching(
        const std::string &value, const pattern &form, const std::string &what, const char *kind) {
        if (!form.matches(value))
            quit(
                _wa, std::string(kind) + (what.empty() ? "" : " parameter [name=" + what + "]") +
                         " equals to \"" + compress(value) + "\", doesn't correspond to pattern \"" +
                         form.src() + "\"");
        return value;
    }

    static void require_end();
};

inline InStream inf, ouf, ans;
inline std::fstream tout;

inline void InStream::require_end() {
    if (!ouf.seekEof()) grader_end(2, "wrong output format Extra information in the output file");
}

[[noreturn]] inline void quit(TResult result, const std::string &words) { ouf.quit(result, words); }
[[noreturn]] inline void quitf(TResult result, const char *form, ...) GRADER_PRINTF(2, 3);
[[noreturn]] inline void quitf(TResult result, const char *form, ...) {
    GRADER_FORMAT(form, text);
    ouf.quit(result, text);
}
inline void quitif(bool condition, TResult result, const char *form, ...) GRADER_PRINTF(3, 4);
inline void quitif(bool condition, TResult result, const char *form, ...) {
    if (!condition) return;
    GRADER_FORMAT(form, text);
    ouf.quit(result, text);
}
// Its points are of a form that only other judges know, so the suite cannot be graded here.
[[noreturn]] inline void quitpi(const std::string &info, const std::string &words = "") {
    ouf.quit(_fail, "quitpi gives points that the grader cannot read: " + info + " " + words);
}
[[noreturn]] inline void quitp(double share, const std::string &words = "") {
    InStream::share(share, words);
}
[[noreturn]] inline void quitp(double share, const char *form, ...) GRADER_PRINTF(2, 3);
[[noreturn]] inline void quitp(double share, const char *form, ...) {
    GRADER_FORMAT(form, text);
    InStream::share(share, text);
}

inline void pattern::bad(const char *what) const {
    grader_end(_fail, std::string("FAIL pattern \"") + text + "\": " + what);
}

[[noreturn]] inline void expectedButFound(
    TResult result, const std::string &expected, const std::string &found, const char *form, ...) {
    GRADER_FORMAT(form, text);
    if (!text.empty()) text += ": ";
    quit(result, text + "expected '" + compress(expected) + "', found '" + compress(found) + "'");
}
[[noreturn]] inline void expectedButFound(
    TResult result, const std::string &expected, const std::string &found,
    const std::string &words = "") {
    expectedButFound(result, expected, found, "%s", words.c_str());
}
template <class T>
[[noreturn]] typename std::enable_if<std::is_arithmetic<T>::value>::type expectedButFound(
    TResult result, T expected, T found, const std::string &words = "") {
    std::string texts[] = {toString(expected), toString(found)};
    if (std::is_floating_point<T>::value) {
        texts[0] = format("%.12f", double(expected));
        texts[1] = format("%.12f", double(found));
    }
    expectedButFound(result, texts[0], texts[1], "%s", words.c_str());
}
template <class T, class... More>
[[noreturn]] typename std::enable_if<std::is_arithmetic<T>::value>::type expectedButFound(
    TResult result, T expected, T found, const char *form, More... more) {
    expectedButFound(result, expected, found, std::string(format(form, more...)));
}

inline void ensuref(bool condition, const char *form, ...) GRADER_PRINTF(2, 3);
inline void ensuref(bool condition, const char *form, ...) {
    if (condition) return;
    GRADER_FORMAT(form, text);
    quit(_fail, text);
}
#define ensure(condition) ensuref((condition), "Condition failed: \"%s\"", #condition)

// ---------------------------------------------------------------- numbers

inline double doubleDelta(double expected, double found) {
    double distance = std::fabs(found - expected);
    return std::fabs(expected) > 1e-9 ? std::min(distance, distance / std::fabs(expected))
                                      : distance;
}

// Whether two numbers differ by at most `most`, absolutely or relative to the expected one.
inline bool doubleCompare(double expected, double found, double most) {
    if (std::isnan(expected)) return std::isnan(found);
    if (std::isinf(expected)) return expected == found;
    if (!std::isfinite(found)) return false;
    double slack = most + 1e-15, distance = std::fabs(found - expected);
    return distance <= slack || distance <= std::fabs(expected) * slack;
}

inline long long stringToLongLong(InStream &in, const std::string &token) {
    return in.to_integer(token);
}
inline unsigned long long stringToUnsignedLongLong(InStream &in, const std::string &token) {
    return in.to_unsigned(token);
}
inline double stringToDouble(InStream &in, const std::string &token) { return in.to_double(token); }
inline double stringToStrictDouble(InStream &in, const std::string &token, int fewest, int digits) {
    return in.to_strict_double(token, fewest, digits);
}

// Random numbers, the same in every run.
class random_t {
    // What a number is in arithmetic: of characters, an int.
    template <class T>
    using Number = typename std::enable_if<std::is_arithmetic<T>::value, decltype(+T())>::type;

public:
    void setSeed(long long seed) { engine.seed((unsigned long long)seed); }
    double next() { return std::uniform_real_distribution<double>(0, 1)(engine); }
    // From the least to the most; if these are not whole numbers, without the most.
    template <class T> auto next(T least, T most) -> Number<T> {
        if constexpr (std::is_floating_point<T>::value) return least + T(next()) * (most - least);
        else return std::uniform_int_distribution<Number<T>>(least, most)(engine);
    }
    template <class T> auto next(T count) -> Number<T> {
        return next(Number<T>(0), Number<T>(count - std::is_integral<T>::value));
    }
    // The most of some more draws or, if their number is negative, the least.
    template <class T> auto wnext(T least, T most, int more) -> Number<T> {
        Number<T> found = next(least, most);
        for (int i = std::abs(more); i > 0; i--) {
            Number<T> other = next(least, most);
            found = more > 0 ? std::max(found, other) : std::min(found, other);
        }
        return found;
    }
    template <class T> auto wnext(T count, int more) -> Number<T> {
        return wnext(Number<T>(0), Number<T>(count - std::is_integral<T>::value), more);
    }
    template <class Iterator> auto any(Iterator first, Iterator last) {
        return *std::next(first, next((long long)std::distance(first, last)));
    }
    template <class Items> auto any(const Items &items) { return any(items.begin(), items.end()); }
    template <class T, class First = T> std::vector<First> perm(T size, First first = First(0)) {
        std::vector<First> numbers(size);
        std::iota(numbers.begin(), numbers.end(), first);
        std::shuffle(numbers.begin(), numbers.end(), engine);
        return numbers;
    }
    template <class T> std::vector<T> distinct(int size, T least, T most) {
        std::set<T> chosen;
        for (T last = most - size + 1; last <= most; last++) {
            T drawn = next(least, last);
            chosen.insert(chosen.count(drawn) ? last : drawn);
        }
        std::vector<T> numbers(chosen.begin(), chosen.end());
        std::shuffle(numbers.begin(), numbers.end(), engine);
        return numbers;
    }
    template <class T> std::vector<T> distinct(int size, T count) {
        return distinct(size, T(0), T(count - 1));
    }

private:
    std::mt19937_64 engine;
};
inline random_t rnd;

template <class Iterator> void shuffle(Iterator first, Iterator last) {
    for (long long size = last - first; size > 1; size--)
        std::iter_swap(first + size - 1, first + rnd.next(size));
}

// ---------------------------------------------------------------- the beginning

inline void grader_begin(TTestlibMode mode, int count, char **arguments, int needed) {
    grader_program().mode = mode;
    if (count <= needed)
        grader_end(_fail, "FAIL the program got too few paths: " + toString(count - 1));
    if (count > 4) {
        const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
        grader_program().report = ::open(arguments[4], flags, 0644);
    }
    inf.init(arguments[1], _input);
}

inline void registerTestlibCmd(int count, char **arguments) {
    grader_begin(_checker, count, arguments, 3);
    ouf.init(arguments[2], _output);
    ans.init(arguments[3], _answer);
}

inline void registerTestlib(int count, ...) {
    std::vector<char *> paths(1);
    va_list arguments;
    va_start(arguments, count);
    for (int i = 0; i < count; i++) paths.push_back(va_arg(arguments, char *));
    va_end(arguments);
    registerTestlibCmd(count + 1, paths.data());
}

inline void registerInteraction(int count, char **arguments) {
    // The other program may have ended already. That must not end this one without a verdict.
    std::signal(SIGPIPE, SIG_IGN);
    grader_begin(_interactor, count, arguments, 2);
    ouf.init(stdin, _output);
    tout.open(arguments[2], std::ios::out | std::ios::trunc);
    if (count > 3) ans.init(arguments[3], _answer);
}

inline void registerGen(int, char **, int = 1) { grader_program().mode = _generator; }

#endif
