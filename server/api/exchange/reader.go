package exchange

import "github.com/writ-policy/writ/server/decision"

// Reader reads members of the types an endpoint knows. The first member of another
// type is the refusal; null is absent. Values read after a refusal must not be used.
// The zero value is ready.
type Reader struct {
	// Under is the path of the object that is read, for the refusal.
	Under string
	// Refused is the first refusal.
	Refused *Refusal
}

// Refuse refuses the body for a key unless it is refused already.
func (f *Reader) Refuse(key, want string) {
	if f.Refused == nil {
		f.Refused = BadRequest(f.Under+key, `"`+f.Under+key+`" must be `+want)
	}
}

// Text reads a string.
func (f *Reader) Text(key string, v decision.Value) string {
	text, ok := v.Text()
	if !ok && !v.IsNull() {
		f.Refuse(key, "a string")
	}
	return text
}

// Bool reads a boolean.
func (f *Reader) Bool(key string, v decision.Value) bool {
	if !v.IsBool() && !v.IsNull() {
		f.Refuse(key, "true or false")
	}
	return v.IsTrue()
}

// Elements reads a list.
func (f *Reader) Elements(key string, v decision.Value) []decision.Value {
	if !v.IsArray() {
		if !v.IsNull() {
			f.Refuse(key, "a list")
		}
		return nil
	}
	var list []decision.Value
	for element := range v.Elements() {
		list = append(list, element)
	}
	return list
}

// Texts reads a list of strings. It is nil for null and for a list without elements.
func (f *Reader) Texts(key string, v decision.Value) []string {
	if !v.IsArray() {
		if !v.IsNull() {
			f.Refuse(key, "a list of strings")
		}
		return nil
	}
	var list []string
	for element := range v.Elements() {
		text, ok := element.Text()
		if !ok {
			f.Refuse(key, "a list of strings")
			return nil
		}
		list = append(list, text)
	}
	return list
}

// TextsMap reads an object of lists of strings. It is nil for null and without members.
func (f *Reader) TextsMap(key string, v decision.Value) map[string][]string {
	if !v.IsObject() {
		if !v.IsNull() {
			f.Refuse(key, "an object of lists of strings")
		}
		return nil
	}
	var entries map[string][]string
	for name, member := range v.Members() {
		if entries == nil {
			entries = make(map[string][]string, 4)
		}
		if !member.IsArray() && !member.IsNull() {
			f.Refuse(key+"."+name, "a list of strings")
		}
		entries[name] = f.Texts(key, member)
	}
	return entries
}

// TextMap reads an object of strings. It is nil for null alone.
func (f *Reader) TextMap(key string, v decision.Value) map[string]string {
	if !v.IsObject() {
		if !v.IsNull() {
			f.Refuse(key, "an object of strings")
		}
		return nil
	}
	entries := make(map[string]string, 4)
	for name, member := range v.Members() {
		text, ok := member.Text()
		if !ok {
			f.Refuse(key, "an object of strings")
		}
		entries[name] = text
	}
	return entries
}

// Object reads an object: v itself, and empty for null.
func (f *Reader) Object(key string, v decision.Value) decision.Value {
	if v.IsObject() {
		return v
	}
	if !v.IsNull() {
		f.Refuse(key, "an object")
	}
	return decision.Value{}
}
