import java.io.*;
import java.util.*;
import java.util.function.*;
import java.util.stream.*;

public class Archived {
    enum Kind { ODD, EVEN }
    interface Shape { default int sides() { return 0; } }
    record Point(int x, int y) implements Shape {}
    static class Node<T extends Comparable<T>> { T value; Node<T> next; }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Map<String, List<Integer>> found = new TreeMap<>();
        int[][] table = new int[2][];
        for (String line; (line = in.readLine()) != null; ) {
            found.computeIfAbsent(line.trim(), key -> new ArrayList<>()).add(table.length);
        }
        try (PrintWriter out = new PrintWriter(System.out)) {
            Function<Integer, Kind> kind = n -> n % 2 == 0 ? Kind.EVEN : Kind.ODD;
            var counted = found.values().stream().flatMap(List::stream).map(kind)
                .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
            switch (counted.size()) {
                case 0: out.println("none"); break;
                default: out.printf("%d %s%n", counted.size(), new Point(1, 2));
            }
        } catch (RuntimeException error) {
            throw new IllegalStateException("failed: " + error.getMessage());
        }
    }
}
