    static String shownForTests(Object value) {
        StringBuilder all = new StringBuilder();
        if (value == null) return "null";
        if (value instanceof String) {
            String text = (String) value;
            return '"' + text.replace("\\", "\\\\").replace("\n", "\\n") + '"';
        }
        if (value instanceof java.util.Optional) {
            return "Optional " + shownForTests(((java.util.Optional<?>) value).orElse(null));
        }
        if (value instanceof java.util.Map) {
            java.util.TreeMap<String, String> sorted = new java.util.TreeMap<>();
            for (java.util.Map.Entry<?, ?> entry : ((java.util.Map<?, ?>) value).entrySet()) {
                sorted.put(shownForTests(entry.getKey()), shownForTests(entry.getValue()));
            }
            return sorted.toString();
        }
        if (value instanceof java.util.Set) {
            java.util.TreeSet<String> sorted = new java.util.TreeSet<>();
            for (Object item : (java.util.Set<?>) value) sorted.add(shownForTests(item));
            return sorted.toString();
        }
        if (value instanceof Iterable) {
            for (Object item : (Iterable<?>) value) all.append(shownForTests(item)).append(", ");
            return "[" + all + "]";
        }
        if (value.getClass().isArray()) {
            for (int i = 0; i < java.lang.reflect.Array.getLength(value); i++) {
                all.append(shownForTests(java.lang.reflect.Array.get(value, i))).append(", ");
            }
            return "[" + all + "]";
        }
        if (value instanceof Double || value instanceof Float) {
            double number = ((Number) value).doubleValue();
            if (number == Math.rint(number) && Math.abs(number) < 1e15) {
                return String.valueOf((long) number);
            }
        }
        return String.valueOf(value);
    }

    static boolean line(String start, Object value) {
        System.out.println(start + shownForTests(value));
        return true;
    }
