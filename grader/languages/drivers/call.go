import (
	shownjson "encoding/json"
	shownfmt "fmt"
	shownmath "math"
	shownos "os"
	shown "reflect"
)

func readForTests(to shown.Value, from interface{}) {
	number, isNumber := from.(shownjson.Number)
	text, isText := from.(string)
	switch to.Kind() {
	case shown.Uint8, shown.Int32:
		if all := []rune(text); isText && len(all) == 1 {
			to.Set(shown.ValueOf(all[0]).Convert(to.Type()))
			return
		}
	case shown.String:
		if isText {
			to.SetString(text)
			return
		}
	case shown.Bool:
		if truth, is := from.(bool); is {
			to.SetBool(truth)
			return
		}
	case shown.Slice, shown.Array:
		if all, is := from.([]interface{}); is {
			if to.Kind() == shown.Slice {
				to.Set(shown.MakeSlice(to.Type(), len(all), len(all)))
			}
			if to.Len() == len(all) {
				for i, item := range all {
					readForTests(to.Index(i), item)
				}
				return
			}
		}
	case shown.Map:
		if all, is := from.(map[string]interface{}); is {
			to.Set(shown.MakeMap(to.Type()))
			for name, item := range all {
				key, value := shown.New(to.Type().Key()).Elem(), shown.New(to.Type().Elem()).Elem()
				// Only a key that is no number tells that int32 means a rune.
				isText := key.Kind() == shown.String || key.Kind() == shown.Uint8
				if isText || !shownjson.Valid([]byte(name)) {
					readForTests(key, name)
				} else {
					readForTests(key, shownjson.Number(name))
				}
				readForTests(value, item)
				to.SetMapIndex(key, value)
			}
			return
		}
	case shown.Ptr:
		if all, is := from.([]interface{}); is && isNodeForTests(to.Type()) {
			readNodesForTests(to, all)
		} else if from != nil {
			to.Set(shown.New(to.Type().Elem()))
			readForTests(to.Elem(), from)
		}
		return
	case shown.Interface:
		if from != nil {
			to.Set(shown.ValueOf(from))
		}
		return
	}
	if isNumber && shownjson.Unmarshal([]byte(number), to.Addr().Interface()) == nil {
		return
	}
	panic(shownfmt.Sprintf("the argument %v is no %v", from, to.Type()))
}

func isNodeForTests(kind shown.Type) bool {
	if kind.Kind() != shown.Ptr || kind.Elem().Kind() != shown.Struct {
		return false
	}
	_, hasNext := kind.Elem().FieldByName("Next")
	_, hasLeft := kind.Elem().FieldByName("Left")
	_, hasValue := kind.Elem().FieldByName("Val")
	return hasValue && (hasNext || hasLeft)
}

// What a node leads to, in order.
func linksForTests(node shown.Value) []shown.Value {
	if next := node.Elem().FieldByName("Next"); next.IsValid() {
		return []shown.Value{next}
	}
	return []shown.Value{node.Elem().FieldByName("Left"), node.Elem().FieldByName("Right")}
}

// A linked list is a list, and a tree its values level by level.
func readNodesForTests(to shown.Value, from []interface{}) {
	free := []shown.Value{to}
	for _, each := range from {
		if len(free) == 0 || each == nil && len(free) == 1 && len(linksForTests(shown.New(to.Type().Elem()))) == 1 {
			panic(shownfmt.Sprintf("the argument %v is no %v", from, to.Type()))
		}
		if each != nil {
			free[0].Set(shown.New(to.Type().Elem()))
			readForTests(free[0].Elem().FieldByName("Val"), each)
			free = append(free, linksForTests(free[0])...)
		}
		free = free[1:]
	}
}

func showNodesForTests(first shown.Value) string {
	texts := []string{}
	known := 0
	for waiting := []shown.Value{first}; len(waiting) > 0; waiting = waiting[1:] {
		if waiting[0].IsNil() {
			texts = append(texts, "null")
			continue
		}
		texts = append(texts, showForTests(waiting[0].Elem().FieldByName("Val")))
		known = len(texts)
		waiting = append(waiting, linksForTests(waiting[0])...)
	}
	text := "["
	for i, each := range texts[:known] {
		if i > 0 {
			text += ","
		}
		text += each
	}
	return text + "]"
}

func showForTests(value shown.Value) string {
	if value.Kind() == shown.Ptr && isNodeForTests(value.Type()) {
		return showNodesForTests(value)
	}
	switch value.Kind() {
	case shown.Invalid:
		return "null"
	case shown.Ptr, shown.Interface:
		if value.IsNil() {
			return "null"
		}
		return showForTests(value.Elem())
	case shown.Slice, shown.Array:
		text := "["
		for i := 0; i < value.Len(); i++ {
			if i > 0 {
				text += ","
			}
			text += showForTests(value.Index(i))
		}
		return text + "]"
	case shown.Map:
		entries := "{"
		for i, key := range value.MapKeys() {
			if i > 0 {
				entries += ","
			}
			text := shownfmt.Sprint(key)
			if key.Kind() == shown.Uint8 {
				text = string(rune(key.Uint()))
			}
			name, _ := shownjson.Marshal(text)
			entries += string(name) + ":" + showForTests(value.MapIndex(key))
		}
		return entries + "}"
	case shown.Uint8:
		return showForTests(shown.ValueOf(string(rune(value.Uint()))))
	case shown.Float32, shown.Float64:
		if number := value.Float(); shownmath.IsNaN(number) {
			return "NaN"
		} else if shownmath.IsInf(number, 0) {
			return map[bool]string{true: "Infinity", false: "-Infinity"}[number > 0]
		}
	}
	text, err := shownjson.Marshal(value.Interface())
	if err != nil {
		panic(err)
	}
	return string(text)
}

func callForTests(mark string, called interface{}) {
	var given []interface{}
	decoder := shownjson.NewDecoder(shownos.Stdin)
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil {
		panic(err)
	}
	function := shown.ValueOf(called)
	if function.Type().NumIn() != len(given) {
		panic(shownfmt.Sprintf("the function has %v parameters", function.Type().NumIn()))
	}
	values := make([]shown.Value, len(given))
	for i, each := range given {
		values[i] = shown.New(function.Type().In(i)).Elem()
		readForTests(values[i], each)
	}
	results := function.Call(values)
	if last := len(results) - 1; last > 0 && function.Type().Out(last).String() == "error" {
		if !results[last].IsNil() {
			panic(results[last].Interface())
		}
		results = results[:last]
	}
	text := "null"
	if len(results) == 1 {
		text = showForTests(results[0])
	} else if len(results) > 1 {
		all := make([]interface{}, len(results))
		for i, each := range results {
			all[i] = each.Interface()
		}
		text = showForTests(shown.ValueOf(all))
	}
	shownfmt.Printf("\n%s 0 %s\n", mark, text)
}
