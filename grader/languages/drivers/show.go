func shownForTests(start string, value interface{}) {
	switch found := value.(type) {  // The two zeros are equal.
	case float64:
		value = found + 0
	case []float64:
		for i := range found { found[i] += 0 }
	}
	shownfmt.Printf("\n%s %#v\n", start, value)
}
func asTextForTests(value interface{}) string { return shownfmt.Sprintf("%v", value) }
func likeForTests(_ func(), expected interface{}) interface{} { return expected }
