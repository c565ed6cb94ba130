package tables

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/writ-policy/writ/internal/jsontext"
)

// Decode decodes the JSON of a table, which jsontext.Check must have accepted. Names of
// fields are case-sensitive, and an unknown one is an error. Free values have json.Number
// for numbers, which keeps their digits.
//
// encoding/json would go through a large table several times, and keep each repeated list
// by itself: most roles have lists of verbs that others have too.
func Decode(checked []byte, table Table) error {
	d := newDecoder(checked)
	if err := d.value(d.tokens.Next(), reflect.ValueOf(table).Elem()); err != nil {
		return err
	}
	shareNames(table)
	return nil
}

// Groups makes a reader of groups of members, each of which it returns as an object that
// jsontext.Check accepts. It is called for each goroutine, whose reader may return the same
// memory again and again.
type Groups func() func(*jsontext.Member) ([]byte, error)

// DecodeObject is Decode for an object that was split, with all CPUs. It returns an error as well for what only
// Decode reads.
func DecodeObject(o *jsontext.Object, groups Groups, table Table) error {
	if err := newDecoder(nil).members(o, groups, reflect.ValueOf(table).Elem()); err != nil {
		return err
	}
	shareNames(table)
	return nil
}

// members decodes an object that was split.
func (d *decoder) members(o *jsontext.Object, groups Groups, to reflect.Value) error {
	if to.Kind() != reflect.Struct {
		return errors.New("an object that is decoded whole")
	}
	if m, ok := to.Addr().Interface().(rows); ok {
		return m.decodeSplit(o, groups)
	}
	read := groups()
	for i := range o.Members {
		member := &o.Members[i]
		if member.Object == nil {
			text, err := read(member)
			if err != nil {
				return err
			}
			d.tokens = jsontext.TokensOf(text)
			d.tokens.Next() // the opening brace
			if err := d.object(to); err != nil {
				return err
			}
			continue
		}
		field, ok := fieldsOf(to.Type())[member.First]
		if !ok {
			return fmt.Errorf("unknown field %q", member.First)
		}
		if err := d.members(member.Object, groups, to.FieldByIndex(field)); err != nil {
			return err
		}
	}
	return nil
}

// decoder decodes values that follow each other. Short texts and lists that are likely to
// be repeated are kept and shared. It is not safe for concurrent use.
type decoder struct {
	tokens *jsontext.Tokens
	texts  map[string]string
	lists  map[string][]string
	rules  map[ListsKey]*KubernetesLists
	rule   KubernetesLists // of the rule that is being decoded
	kept   strings.Builder // the texts that are not shared, until it is full
	key    string          // of the row that is being decoded
}

func newDecoder(checked []byte) *decoder {
	return &decoder{
		tokens: jsontext.TokensOf(checked), texts: make(map[string]string),
		lists: make(map[string][]string), rules: make(map[ListsKey]*KubernetesLists),
	}
}

// rows is a map that decodes its JSON itself.
type rows interface {
	decode(object []byte, with *decoder) error
	decodeSplit(o *jsontext.Object, groups Groups) error
}

// value decodes the value that begins with a token.
func (d *decoder) value(token jsontext.Token, to reflect.Value) error {
	if token.Kind == 'n' {
		return nil
	}
	switch kind := to.Kind(); {
	case kind == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		return d.value(token, to.Elem())
	case kind == reflect.Struct && token.Kind == '{':
		if m, ok := to.Addr().Interface().(rows); ok {
			return m.decode(d.tokens.Whole(token), d)
		}
		return d.object(to)
	case kind == reflect.Struct && token.Kind == '"':
		if text, ok := to.Addr().Interface().(encoding.TextUnmarshaler); ok {
			return text.UnmarshalText([]byte(d.tokens.Text(token)))
		}
	case kind == reflect.String && token.Kind == '"':
		to.SetString(d.text(token))
		return nil
	case kind == reflect.Bool && (token.Kind == 't' || token.Kind == 'f'):
		to.SetBool(token.Kind == 't')
		return nil
	case kind == reflect.Int && token.Kind <= '9':
		if n, err := strconv.Atoi(d.tokens.Raw(token)); err == nil {
			to.SetInt(int64(n))
			return nil
		}
	case kind == reflect.Slice && token.Kind == '[':
		return d.list(token, to)
	case kind == reflect.Map && token.Kind == '{':
		return d.pairs(to)
	case kind == reflect.Interface:
		to.Set(reflect.ValueOf(jsontext.ValueOf(string(d.tokens.Whole(token))).Any()))
		return nil
	}
	return json.Unmarshal(d.tokens.Whole(token), to.Addr().Interface())
}

// object decodes the rest of an object into a struct.
func (d *decoder) object(to reflect.Value) error {
	if rule, ok := to.Addr().Interface().(*KubernetesRule); ok {
		d.rule = KubernetesLists{}
		rule.KubernetesLists = &d.rule
		defer func() { rule.KubernetesLists = d.share() }()
	}
	fields := fieldsOf(to.Type())
	for key := d.tokens.Next(); key.Kind != '}'; key = d.tokens.Next() {
		// A name that is written with escapes is not a field's.
		raw := d.tokens.Whole(key)
		field, ok := fields[string(raw[1:len(raw)-1])]
		if !ok {
			return fmt.Errorf("unknown field %q", d.tokens.Text(key))
		}
		if err := d.value(d.tokens.Next(), to.FieldByIndex(field)); err != nil {
			return err
		}
	}
	return nil
}

// pairs decodes the rest of an object into a map with keys of strings.
func (d *decoder) pairs(to reflect.Value) error {
	to.Set(reflect.MakeMap(to.Type()))
	for key := d.tokens.Next(); key.Kind != '}'; key = d.tokens.Next() {
		name, value := d.text(key), reflect.New(to.Type().Elem()).Elem()
		if err := d.value(d.tokens.Next(), value); err != nil {
			return err
		}
		to.SetMapIndex(reflect.ValueOf(name), value)
	}
	return nil
}

// list decodes a list into a slice of its length.
func (d *decoder) list(token jsontext.Token, to reflect.Value) error {
	after := *d.tokens
	raw := after.Whole(token)
	if texts, ok := to.Addr().Interface().(*[]string); ok && (repeats(raw) || d.isWords(texts)) {
		if known, ok := d.lists[string(raw)]; ok {
			*texts, *d.tokens = known, after
			return nil
		}
		defer func() { remember(d.lists, string(raw), *texts) }()
	}
	n := 0
	for range jsontext.Elements(raw) {
		n++
	}
	to.Set(reflect.MakeSlice(to.Type(), n, n))
	for i := range n {
		next := d.tokens.Next()
		if next.Kind == 'n' && to.Type().Elem().Kind() == reflect.Struct {
			return errors.New("null in a list of objects")
		}
		if err := d.value(next, to.Index(i)); err != nil {
			return err
		}
	}
	d.tokens.Next() // the closing bracket
	return nil
}

// share returns the lists of an equal rule before, or those of the rule.
func (d *decoder) share() *KubernetesLists {
	key := d.rule.Key()
	if known, ok := d.rules[key]; ok {
		return known
	}
	lists := d.rule
	remember(d.rules, key, &lists)
	return &lists
}

// text returns a text: a part of the key of its row, as names are, one that was shared before, or one of its own.
func (d *decoder) text(token jsontext.Token) string {
	raw := d.tokens.Whole(token)
	inside := raw[1 : len(raw)-1]
	if at := strings.Index(d.key, string(inside)); at >= 0 && bytes.IndexByte(inside, '\\') < 0 {
		return d.key[at : at+len(inside)]
	}
	if !repeats(raw) {
		if bytes.HasPrefix(inside, keyBeginnings[0]) || bytes.HasPrefix(inside, keyBeginnings[1]) {
			return d.tokens.Text(token) // shareNames replaces it
		}
		return d.keep(token)
	}
	if known, ok := d.texts[string(raw)]; ok {
		return known
	}
	text := d.tokens.Text(token)
	remember(d.texts, string(raw), text)
	return text
}

// keyBeginnings are those of the keys of roles and bindings.
var keyBeginnings = [...][]byte{[]byte(FamilyKubernetes + ":"), []byte(FamilyOrigin + ":")}

// keep returns a text of its own, together with others in one piece of memory: rows have several short ones,
// and Go rounds each up.
func (d *decoder) keep(token jsontext.Token) string {
	const together = 4 << 10
	raw := d.tokens.Whole(token)
	raw = raw[1 : len(raw)-1]
	if len(raw) > together/8 || bytes.IndexByte(raw, '\\') >= 0 {
		return d.tokens.Text(token)
	}
	if d.kept.Len()+len(raw) > d.kept.Cap() {
		d.kept = strings.Builder{}
		d.kept.Grow(together)
	}
	from := d.kept.Len()
	d.kept.Write(raw)
	return d.kept.String()[from:]
}

// mostRemembered bounds how many texts or lists a decoder shares. It begins anew with the next one:
// those that are repeated come again.
const mostRemembered = 4096

func remember[K comparable, V any](known map[K]V, key K, value V) {
	if len(known) == mostRemembered {
		clear(known)
	}
	known[key] = value
}

// repeats reports whether a text is likely to be repeated: words are, while names and
// places with a number are not.
func repeats(raw []byte) bool {
	if len(raw) > 256 {
		return false
	}
	for _, c := range raw {
		if '0' <= c && c <= '9' {
			return false
		}
	}
	return true
}

// isWords reports whether a list is one of a rule whose entries are words, with a number or without.
func (d *decoder) isWords(list *[]string) bool {
	return list == &d.rule.Verbs || list == &d.rule.Groups || list == &d.rule.Resources
}

// fieldIndexes has the index of each field of a struct, by its name in JSON.
var fieldIndexes sync.Map

func fieldsOf(t reflect.Type) map[string][]int {
	if known, ok := fieldIndexes.Load(t); ok {
		return known.(map[string][]int)
	}
	fields := make(map[string][]int)
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" && name != "" {
			fields[name] = field.Index
		}
	}
	fieldIndexes.Store(t, fields)
	return fields
}

// ListsKey identifies lists of rules by where they are: equal lists with different keys are
// kept twice, which does no harm.
type ListsKey [5]struct {
	first *string
	size  int
}

// Key returns the key of lists.
func (l *KubernetesLists) Key() (key ListsKey) {
	for i, list := range [...][]string{l.Verbs, l.Groups, l.Resources, l.Names, l.Paths} {
		switch key[i].size = len(list); {
		case list == nil: // null in JSON
			key[i].size = -1
		case len(list) > 0:
			key[i].first = &list[0]
		}
	}
	return key
}

// shareNames makes rows refer to others by the text of their keys, so that it is held once. It changes
// the rows, which must be the caller's alone. Only the tables of the access point have so many.
func shareNames(t Table) {
	a, ok := t.(*Access)
	if !ok {
		return
	}
	roles, bindings := FinderOf(a.Roles), FinderOf(a.Bindings)
	for _, b := range a.Bindings.All() {
		b.Role = roles.Own(b.Role)
	}
	share := func(subjects *Map[[]string]) {
		for _, keys := range subjects.All() {
			for i, key := range *keys {
				(*keys)[i] = bindings.Own(key)
			}
		}
	}
	share(&a.Subjects.Cluster)
	for _, subjects := range a.Subjects.Namespaces.All() {
		share(subjects)
	}
}
