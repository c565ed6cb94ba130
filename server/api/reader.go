package api

import "github.com/writ-policy/writ/server/decision"

// reader reads members of the types an endpoint knows. The first that is of another
// type is the refusal; null is absent. What it gives after that is of no use.
type reader struct {
	// under is the path of the object that is read, for the refusal.
	under   string
	refused *refusal
}

func (f *reader) refuse(key, want string) {
	if f.refused == nil {
		f.refused = badRequest(f.under+key, `"`+f.under+key+`" must be `+want)
	}
}

func (f *reader) text(key string, v decision.Value) string {
	text, ok := v.Text()
	if !ok && !v.IsNull() {
		f.refuse(key, "a string")
	}
	return text
}

func (f *reader) elements(key string, v decision.Value) []decision.Value {
	if !v.IsArray() {
		if !v.IsNull() {
			f.refuse(key, "a list")
		}
		return nil
	}
	var list []decision.Value
	for element := range v.Elements() {
		list = append(list, element)
	}
	return list
}

// texts is nil for null and for a list without elements.
func (f *reader) texts(key string, v decision.Value) []string {
	if !v.IsArray() {
		if !v.IsNull() {
			f.refuse(key, "a list of strings")
		}
		return nil
	}
	var list []string
	for element := range v.Elements() {
		text, ok := element.Text()
		if !ok {
			f.refuse(key, "a list of strings")
			return nil
		}
		list = append(list, text)
	}
	return list
}

func (f *reader) textsMap(key string, v decision.Value) map[string][]string {
	if !v.IsObject() {
		if !v.IsNull() {
			f.refuse(key, "an object of lists of strings")
		}
		return nil
	}
	var entries map[string][]string
	for name, member := range v.Members() {
		if entries == nil {
			entries = make(map[string][]string, 4)
		}
		if !member.IsArray() && !member.IsNull() {
			f.refuse(key+"."+name, "a list of strings")
		}
		entries[name] = f.texts(key, member)
	}
	return entries
}

func (f *reader) textMap(key string, v decision.Value) map[string]string {
	if !v.IsObject() {
		if !v.IsNull() {
			f.refuse(key, "an object of strings")
		}
		return nil
	}
	entries := make(map[string]string, 4)
	for name, member := range v.Members() {
		text, ok := member.Text()
		if !ok {
			f.refuse(key, "an object of strings")
		}
		entries[name] = text
	}
	return entries
}

// object is v itself, and empty for null.
func (f *reader) object(key string, v decision.Value) decision.Value {
	if v.IsObject() {
		return v
	}
	if !v.IsNull() {
		f.refuse(key, "an object")
	}
	return ""
}
