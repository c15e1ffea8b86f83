class ShownForTests {
    interface Body { void run() throws Throwable; }

    static boolean hasFailed = false;

    /** Runs a test, whose errors end nothing but this test. */
    static void run(Body test) {
        try {
            test.run();
        } catch (Throwable thrown) {
            hasFailed = true;
            System.err.println("Exception in thread \"main\" " + thrown);
            StackTraceElement[] trace = thrown.getStackTrace();
            for (int i = 0; i < trace.length && i < 8; i++) System.err.println("\tat " + trace[i]);
        }
    }

    /** A number by itself equals one of another type; as a part of a value it does not. */
    static void line(String start, Object value) {
        if (value instanceof Double || value instanceof Float) {
            double number = ((Number) value).doubleValue();
            boolean isWhole = number == Math.rint(number) && Math.abs(number) < 1e15;
            System.out.println(start + (isWhole ? String.valueOf((long) number) : String.valueOf(value)));
        } else {
            System.out.println(start + (value instanceof Number ? value.toString() : text(value)));
        }
    }

    static String text(Object value) {
        if (value == null) return "null";
        if (value instanceof String) return quoted((String) value);
        if (value instanceof Integer || value instanceof Boolean) return value.toString();
        if (value instanceof Character) return "'" + value + "'";
        if (value instanceof Enum) return ((Enum<?>) value).name();
        if (value instanceof java.util.Optional) {
            return "Optional " + text(((java.util.Optional<?>) value).orElse(null));
        }
        java.util.List<String> parts = new java.util.ArrayList<>();
        if (value instanceof java.util.Map) {
            for (java.util.Map.Entry<?, ?> entry : ((java.util.Map<?, ?>) value).entrySet()) {
                parts.add(text(entry.getKey()) + "=" + text(entry.getValue()));
            }
            java.util.Collections.sort(parts);
            return "Map " + parts;
        }
        if (value instanceof Iterable || value.getClass().isArray()) {
            for (Object item : items(value)) parts.add(text(item));
            if (value instanceof java.util.Set) java.util.Collections.sort(parts);
            String kind = value instanceof java.util.List ? "" : value instanceof java.util.Set ? "Set " : "Iterable ";
            return (value.getClass().isArray() ? value.getClass().getSimpleName() + " " : kind) + parts;
        }
        return value.getClass().getSimpleName() + " " + quoted(value.toString());
    }

    static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r") + '"';
    }

    static Object second(Object first, Object second) {
        return second;
    }

    /** What an iterable or an array holds, or a stream. */
    static java.util.List<Object> items(Object value) {
        java.util.List<Object> all = new java.util.ArrayList<>();
        if (value instanceof java.util.stream.BaseStream) {
            ((java.util.stream.BaseStream<?, ?>) value).iterator().forEachRemaining(all::add);
        } else if (value instanceof Iterable) {
            for (Object item : (Iterable<?>) value) all.add(item);
        } else {
            for (int i = 0; i < java.lang.reflect.Array.getLength(value); i++) {
                all.add(java.lang.reflect.Array.get(value, i));
            }
        }
        return all;
    }

    static java.util.List<Object> sorted(Object value) {
        java.util.List<Object> all = items(value);
        all.sort(java.util.Comparator.comparing(ShownForTests::text));
        return all;
    }

    static int size(Object value) {
        if (value instanceof CharSequence) return ((CharSequence) value).length();
        if (value instanceof java.util.Map) return ((java.util.Map<?, ?>) value).size();
        if (value instanceof java.util.Optional) {
            return ((java.util.Optional<?>) value).isPresent() ? 1 : 0;
        }
        return items(value).size();
    }

    static String thrown(Class<?> kind, Body body) {
        try {
            body.run();
        } catch (Throwable thrown) {
            return kind.isInstance(thrown) ? kind.getSimpleName() : String.valueOf(thrown);
        }
        return "nothing";
    }

    static String message(Class<?> kind, Body body) {
        try {
            body.run();
        } catch (Throwable thrown) {
            return kind.isInstance(thrown) ? thrown.getMessage() : null;
        }
        return null;
    }
}
