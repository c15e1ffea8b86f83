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
				if key.Kind() == shown.String {
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
		if from != nil {
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

func showForTests(value shown.Value) string {
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
		text := "{"
		for i, key := range value.MapKeys() {
			if i > 0 {
				text += ","
			}
			name, _ := shownjson.Marshal(shownfmt.Sprint(key))
			text += string(name) + ":" + showForTests(value.MapIndex(key))
		}
		return text + "}"
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
	text := "null"
	if results := function.Call(values); len(results) > 0 {
		text = showForTests(results[0])
	}
	shownfmt.Printf("\n%s 0 %s\n", mark, text)
}
