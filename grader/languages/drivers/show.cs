class ShownForTests {
    static string Text(object value) {
        if (value == null) return "null";
        if (value is bool) return (bool) value ? "true" : "false";
        if (value is char) value = value.ToString();
        if (value is string) {
            return '"' + ((string) value).Replace("\\", "\\\\").Replace("\n", "\\n") + '"';
        }
        if (value is System.Runtime.CompilerServices.ITuple) {
            var tuple = (System.Runtime.CompilerServices.ITuple) value;
            var items = new System.Collections.Generic.List<string>();
            for (int i = 0; i < tuple.Length; i++) items.Add(Text(tuple[i]));
            return "(" + string.Join(", ", items) + ")";
        }
        if (value is System.Collections.IDictionary) {
            var items = new System.Collections.Generic.List<string>();
            foreach (System.Collections.DictionaryEntry item in
                     (System.Collections.IDictionary) value) {
                items.Add(Text(item.Key) + ": " + Text(item.Value));
            }
            items.Sort(string.CompareOrdinal);
            return "{" + string.Join(", ", items) + "}";
        }
        if (value is System.Collections.IEnumerable) {
            var items = new System.Collections.Generic.List<string>();
            foreach (object item in (System.Collections.IEnumerable) value) items.Add(Text(item));
            foreach (System.Type type in value.GetType().GetInterfaces()) {
                if (type.Name == "ISet`1") items.Sort(string.CompareOrdinal);
            }
            return "[" + string.Join(", ", items) + "]";
        }
        if (value is double || value is float) {
            double number = System.Convert.ToDouble(value);
            if (number == System.Math.Floor(number) && System.Math.Abs(number) < 1e15) {
                return ((long) number).ToString();
            }
            return number.ToString("R", System.Globalization.CultureInfo.InvariantCulture);
        }
        return System.Convert.ToString(value, System.Globalization.CultureInfo.InvariantCulture);
    }

    public static void Line(string start, object value) {
        System.Console.WriteLine(start + Text(value));
    }
}
