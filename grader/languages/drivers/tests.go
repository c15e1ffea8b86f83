type seenForTests []string

func (seen seenForTests) GoString() string {
	text := ""
	for index, each := range seen {
		if index > 0 {
			text += ", "
		}
		text += each
	}
	return text
}

// strictForTests shows equal values of a type alike, and values of different types differently.
func strictForTests(value interface{}) string {
	return typedForTests(shownreflect.ValueOf(value), 0)
}

// equalForTests is the same for `==`, for which pointers in two programs are never equal.
func equalForTests(value interface{}) string {
	pointersForTests = true
	text := strictForTests(value)
	pointersForTests = false
	return text
}

var pointersForTests bool

// looseForTests shows a value without its type, like a constant that takes any type.
func looseForTests(value interface{}) string {
	return valueForTests(shownreflect.ValueOf(value), 0)
}

// elementsForTests shows a list or map by its elements, for which one that is nil is empty.
func elementsForTests(value interface{}) string {
	found := shownreflect.ValueOf(value)
	if found.IsValid() && found.Len() == 0 {
		return "empty"
	}
	return valueForTests(found, 0)
}

// instantForTests shows a time, in whatever zone it is given.
func instantForTests(value interface{ Unix() int64; Nanosecond() int }) string {
	return shownfmt.Sprintf("instant %d.%09d", value.Unix(), value.Nanosecond())
}

func typedForTests(value shownreflect.Value, depth int) string {
	text := valueForTests(value, depth)
	if !value.IsValid() {
		return text
	}
	switch name := value.Type().String(); name {
	case "int", "string", "bool":
		return text
	default:
		return name + " " + text
	}
}

func valueForTests(value shownreflect.Value, depth int) string {
	if depth > 50 {
		return "..."
	}
	depth++
	text := ""
	switch value.Kind() {
	case shownreflect.Bool:
		return shownstrconv.FormatBool(value.Bool())
	case shownreflect.String:
		return shownstrconv.Quote(value.String())
	case shownreflect.Int, shownreflect.Int8, shownreflect.Int16, shownreflect.Int32, shownreflect.Int64:
		return shownstrconv.FormatInt(value.Int(), 10)
	case shownreflect.Uint, shownreflect.Uint8, shownreflect.Uint16, shownreflect.Uint32, shownreflect.Uint64, shownreflect.Uintptr:
		return shownstrconv.FormatUint(value.Uint(), 10)
	case shownreflect.Float32, shownreflect.Float64:
		// Zero equals minus zero.
		return shownstrconv.FormatFloat(value.Float()+0, 'g', -1, 64)
	case shownreflect.Complex64, shownreflect.Complex128:
		return shownstrconv.FormatComplex(value.Complex(), 'g', -1, 128)
	case shownreflect.Ptr:
		if !value.IsNil() && pointersForTests {
			return shownfmt.Sprintf("pointer %d", showntime.Now().UnixNano())
		}
		if !value.IsNil() {
			return "&" + valueForTests(value.Elem(), depth)
		}
	case shownreflect.Interface:
		if !value.IsNil() {
			return typedForTests(value.Elem(), depth)
		}
	case shownreflect.Array, shownreflect.Slice:
		if value.Kind() == shownreflect.Array || !value.IsNil() {
			for index := 0; index < value.Len(); index++ {
				if index > 0 {
					text += ", "
				}
				text += valueForTests(value.Index(index), depth)
			}
			return "[" + text + "]"
		}
	case shownreflect.Map:
		if !value.IsNil() {
			items := []string{}
			for _, key := range value.MapKeys() {
				items = append(items, valueForTests(key, depth)+": "+valueForTests(value.MapIndex(key), depth))
			}
			shownsort.Strings(items)
			for index, item := range items {
				if index > 0 {
					text += ", "
				}
				text += item
			}
			return "map[" + text + "]"
		}
	case shownreflect.Struct:
		for index := 0; index < value.NumField(); index++ {
			if index > 0 {
				text += ", "
			}
			text += value.Type().Field(index).Name + ": " + valueForTests(value.Field(index), depth)
		}
		return "{" + text + "}"
	case shownreflect.Func, shownreflect.Chan, shownreflect.UnsafePointer:
		if !value.IsNil() {
			return value.Kind().String()
		}
	}
	return "nil"
}
