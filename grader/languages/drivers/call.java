class MainForTests {
    static String text;
    static int at;

    static char next() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) at++;
        return at < text.length() ? text.charAt(at) : 0;
    }

    static IllegalArgumentException unfit(Object value, Object type) {
        return new IllegalArgumentException("the argument " + value + " is no " + type);
    }

    static Object parse() {
        char c = next();
        if (c == '"') return quoted();
        if (c == '[') {
            List<Object> all = new ArrayList<>();
            for (at++; next() != ']'; ) {
                if (next() == ',') at++;
                all.add(parse());
            }
            at++;
            return all;
        }
        if (c == '{') {
            Map<String, Object> all = new LinkedHashMap<>();
            for (at++; next() != '}'; ) {
                if (next() == ',') at++;
                next();
                String key = quoted();
                next();
                at++;
                all.put(key, parse());
            }
            at++;
            return all;
        }
        int from = at;
        while (at < text.length() && ",]}: ".indexOf(text.charAt(at)) < 0) at++;
        String word = text.substring(from, at);
        if (word.equals("null")) return null;
        if (word.equals("true") || word.equals("false")) return word.equals("true");
        return new java.math.BigDecimal(word);
    }

    static String quoted() {
        StringBuilder found = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char c = text.charAt(at);
            if (c == '\\') {
                c = text.charAt(++at);
                int known = "ntrbf".indexOf(c);
                if (c == 'u') {
                    c = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
                    at += 4;
                } else if (known >= 0) {
                    c = "\n\t\r\b\f".charAt(known);
                }
            }
            found.append(c);
        }
        at++;
        return found.toString();
    }

    static Class<?> classOf(java.lang.reflect.Type type) {
        if (type instanceof Class) return (Class<?>) type;
        if (type instanceof java.lang.reflect.ParameterizedType) {
            return classOf(((java.lang.reflect.ParameterizedType) type).getRawType());
        }
        if (type instanceof java.lang.reflect.GenericArrayType) {
            java.lang.reflect.Type item =
                ((java.lang.reflect.GenericArrayType) type).getGenericComponentType();
            return java.lang.reflect.Array.newInstance(classOf(item), 0).getClass();
        }
        return Object.class;
    }

    static java.lang.reflect.Type argument(java.lang.reflect.Type type, int number) {
        if (!(type instanceof java.lang.reflect.ParameterizedType)) return Object.class;
        return ((java.lang.reflect.ParameterizedType) type).getActualTypeArguments()[number];
    }

    // The fields of one of LeetCode's nodes that lead to others; none of any other class.
    static List<java.lang.reflect.Field> links(Class<?> type) {
        List<java.lang.reflect.Field> all = new ArrayList<>();
        if (!type.getSimpleName().equals("ListNode") && !type.getSimpleName().equals("TreeNode")) return all;
        for (String name : new String[] {"next", "left", "right"}) {
            try {
                all.add(type.getDeclaredField(name));
            } catch (NoSuchFieldException error) {
                continue;
            }
        }
        for (java.lang.reflect.Field field : all) field.setAccessible(true);
        return all;
    }

    static java.lang.reflect.Field worth(Class<?> type) throws ReflectiveOperationException {
        java.lang.reflect.Field field = type.getDeclaredField("val");
        field.setAccessible(true);
        return field;
    }

    static Object node(Class<?> type, Object value) throws ReflectiveOperationException {
        Object node = null;
        for (java.lang.reflect.Constructor<?> made : type.getDeclaredConstructors()) {
            made.setAccessible(true);
            if (made.getParameterCount() == 0) node = made.newInstance();
            else if (made.getParameterCount() == 1) node = made.newInstance(as(value, made.getParameterTypes()[0]));
            if (node != null) break;
        }
        java.lang.reflect.Field field = worth(type);
        field.set(node, as(value, field.getType()));
        return node;
    }

    // A linked list is a list, and a tree its values level by level.
    static Object nodes(List<?> values, Class<?> type) {
        try {
            List<Object> all = new ArrayList<>();
            for (Object value : values) all.add(value == null ? null : node(type, value));
            int free = 1;
            List<java.lang.reflect.Field> links = links(type);
            for (Object node : all) {
                if (node == null && links.size() == 1) throw unfit(values, type);
                for (java.lang.reflect.Field link : links) {
                    if (node != null && free < all.size()) link.set(node, all.get(free++));
                }
            }
            return all.isEmpty() ? null : all.get(0);
        } catch (ReflectiveOperationException | NullPointerException error) {
            throw unfit(values, type);
        }
    }

    static List<Object> values(Object first) throws ReflectiveOperationException {
        List<Object> nodes = new ArrayList<>(), all = new ArrayList<>();
        if (first != null) nodes.add(first);
        for (int i = 0; i < nodes.size(); i++) {
            Object node = nodes.get(i);
            all.add(node == null ? null : worth(node.getClass()).get(node));
            if (node == null) continue;
            List<java.lang.reflect.Field> links = links(node.getClass());
            for (java.lang.reflect.Field link : links) {
                if (links.size() > 1 || link.get(node) != null) nodes.add(link.get(node));
            }
        }
        while (!all.isEmpty() && all.get(all.size() - 1) == null) all.remove(all.size() - 1);
        return all;
    }

    static Object as(Object value, java.lang.reflect.Type type) {
        Class<?> raw = classOf(type);
        if (value instanceof List && !links(raw).isEmpty()) return nodes((List<?>) value, raw);
        if (value == null && !raw.isPrimitive()) return null;
        if (raw.isArray() && value instanceof List) {
            java.lang.reflect.Type item = type instanceof Class ? raw.getComponentType()
                : ((java.lang.reflect.GenericArrayType) type).getGenericComponentType();
            List<?> from = (List<?>) value;
            Object all = java.lang.reflect.Array.newInstance(raw.getComponentType(), from.size());
            for (int i = 0; i < from.size(); i++) {
                java.lang.reflect.Array.set(all, i, as(from.get(i), item));
            }
            return all;
        }
        if (value instanceof List) {
            Collection<Object> all = raw.isAssignableFrom(ArrayList.class) ? new ArrayList<>()
                : raw.isAssignableFrom(HashSet.class) ? new HashSet<>()
                : raw.isAssignableFrom(LinkedList.class) ? new LinkedList<>() : new TreeSet<>();
            for (Object item : (List<?>) value) all.add(as(item, argument(type, 0)));
            if (raw.isInstance(all)) return all;
        }
        if (value instanceof Map) {
            Map<Object, Object> all =
                raw.isAssignableFrom(TreeMap.class) && !raw.isAssignableFrom(HashMap.class)
                ? new TreeMap<>() : new HashMap<>();
            for (Map.Entry<?, ?> each : ((Map<?, ?>) value).entrySet()) {
                Class<?> key = classOf(argument(type, 0));
                Object named = key == String.class || key == Character.class || key == Object.class
                    ? each.getKey() : new java.math.BigDecimal((String) each.getKey());
                all.put(as(named, argument(type, 0)), as(each.getValue(), argument(type, 1)));
            }
            if (raw.isInstance(all)) return all;
        }
        if (value instanceof String && (raw == char.class || raw == Character.class)) {
            if (((String) value).length() == 1) return ((String) value).charAt(0);
        } else if (value instanceof Boolean && raw == boolean.class) {
            return value;
        } else if (value instanceof Number) {
            Number number = (Number) value;
            if (raw == double.class || raw == Double.class) return number.doubleValue();
            if (raw == float.class || raw == Float.class) return number.floatValue();
            if (number instanceof java.math.BigDecimal) {
                java.math.BigDecimal exact = (java.math.BigDecimal) number;
                if (raw == int.class || raw == Integer.class) return exact.intValueExact();
                if (raw == long.class || raw == Long.class) return exact.longValueExact();
                if (raw == short.class || raw == Short.class) return exact.shortValueExact();
                if (raw == byte.class || raw == Byte.class) return exact.byteValueExact();
                if (raw == java.math.BigInteger.class) return exact.toBigIntegerExact();
            }
        }
        if (raw.isInstance(value)) return value;
        throw unfit(value, type.getTypeName());
    }

    static void show(StringBuilder out, Object value) throws ReflectiveOperationException {
        if (value != null && !links(value.getClass()).isEmpty()) {
            show(out, values(value));
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Iterable) {
            String between = "[";
            for (Object item : (Iterable<?>) value) {
                out.append(between);
                show(out, item);
                between = ",";
            }
            out.append(between.equals("[") ? "[]" : "]");
        } else if (value instanceof Map) {
            String between = "{";
            for (Map.Entry<?, ?> each : ((Map<?, ?>) value).entrySet()) {
                out.append(between);
                show(out, String.valueOf(each.getKey()));
                out.append(':');
                show(out, each.getValue());
                between = ",";
            }
            out.append(between.equals("{") ? "{}" : "}");
        } else if (value.getClass().isArray()) {
            List<Object> all = new ArrayList<>();
            for (int i = 0; i < java.lang.reflect.Array.getLength(value); i++) {
                all.add(java.lang.reflect.Array.get(value, i));
            }
            show(out, all);
        } else {
            out.append('"');
            for (char c : value.toString().toCharArray()) {
                if (c == '"' || c == '\\' || c < 32 || c > 126) out.append(String.format("\\u%04x", (int) c));
                else out.append(c);
            }
            out.append('"');
        }
    }

    // No node is an empty list, whether it is a result or one of several.
    static Object withoutNull(Object value, java.lang.reflect.Type type) {
        if (value == null) return links(classOf(type)).isEmpty() ? null : List.of();
        boolean isArray = value instanceof Object[];
        java.lang.reflect.Type inner = isArray ? classOf(type).getComponentType() : argument(type, 0);
        if (!isArray && !(value instanceof List) || inner == null || links(classOf(inner)).isEmpty()) return value;
        List<Object> all = new ArrayList<>();
        for (Object each : isArray ? Arrays.asList((Object[]) value) : (List<?>) value) all.add(withoutNull(each, inner));
        return all;
    }

    public static void main(String[] args) throws Throwable {
        text = new String(System.in.readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        java.io.PrintStream printed = System.out; // the submission may replace it
        List<?> given = (List<?>) parse();
        RuntimeException unfit = null;
        java.lang.reflect.Method[] methods = {holder}.class.getDeclaredMethods();
        Arrays.sort(methods, (a, b) -> (b.getModifiers() & 1) - (a.getModifiers() & 1)); // public first
        for (java.lang.reflect.Method method : methods) {
            if (!method.getName().equals("{function}") || method.isSynthetic()) continue;
            if (method.getParameterCount() != given.size()) continue;
            java.lang.reflect.Type[] types = method.getGenericParameterTypes();
            Object[] values = new Object[types.length];
            try {
                for (int i = 0; i < types.length; i++) values[i] = as(given.get(i), types[i]);
            } catch (IllegalArgumentException | ArithmeticException error) {
                if (unfit == null) unfit = error;
                continue;
            }
            java.lang.reflect.Constructor<?> made = {holder}.class.getDeclaredConstructor();
            made.setAccessible(true);
            method.setAccessible(true);
            StringBuilder out = new StringBuilder("\n{mark} 0 ");
            try {
                Object value = method.invoke(made.newInstance(), values);
                show(out, withoutNull(value, method.getGenericReturnType()));
            } catch (java.lang.reflect.InvocationTargetException error) {
                throw error.getCause();
            }
            printed.println(out);
            return;
        }
        if (unfit != null) throw unfit;
        throw new NoSuchMethodException("{function} with " + given.size() + " parameters");
    }
}
