package tables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// After any changes, a map and its differences are equal to those of a plain map. There
// are enough rows for many pieces.
func TestMapIsAPlainMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Map[string]
		plain := make(map[string]string)
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			changes := make(map[string]*string)
			from, count := rapid.IntRange(0, 1500).Draw(t, "from"), rapid.IntRange(0, 900).Draw(t, "count")
			step := rapid.IntRange(1, 40).Draw(t, "step")
			value := rapid.SampledFrom([]*string{nil, new("x"), new("<y>")}).Draw(t, "value")
			for i := range count {
				changes[fmt.Sprintf("key-%04d", from+i*step)] = value
			}
			before, earlier := m, maps.Clone(plain)
			m = m.With(changes)
			for key, value := range changes {
				if delete(plain, key); value != nil {
					plain[key] = *value
				}
			}
			checkMap(t, m, plain)
			checkMap(t, before, earlier)
			checkSince(t, m, before, plain, earlier)
		}
	})
}

// compact returns a text without the line ends between its parts.
func compact(t interface{ Fatal(...any) }, text Text) string {
	var out bytes.Buffer
	if err := json.Compact(&out, text.Bytes()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func checkMap(t *rapid.T, m Map[string], want map[string]string) {
	t.Helper()
	got := make(map[string]string)
	for key, value := range m.All() {
		got[key] = *value
		if at := m.At(key); at != *value {
			t.Fatalf("at %q: got %q, want %q", key, at, *value)
		}
	}
	if !maps.Equal(got, want) || m.Len() != len(want) {
		t.Fatalf("got %d rows %v\nwant %v", m.Len(), got, want)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(want); err != nil {
		t.Fatal(err)
	}
	parts := m.text(Text{})
	if got := compact(t, parts); got != strings.TrimSpace(text.String()) {
		t.Fatalf("got  %s\nwant %s", got, &text)
	}
	whole := parts.Bytes()
	if parts.Sum() != TextOf(whole).Sum() {
		t.Fatalf("the hash of the parts is not that of the text %s", whole)
	}
	if again := MapOf(want).text(Text{}).Bytes(); !bytes.Equal(again, whole) {
		t.Fatalf("after changes: %s\nof the rows alone: %s", whole, again)
	}
}

func checkSince(t *rapid.T, m, before Map[string], plain, earlier map[string]string) {
	t.Helper()
	got, want := make(map[string][2]string), make(map[string][2]string)
	m.Since(before, func(key string, now, before *string) {
		var change [2]string
		for i, value := range []*string{now, before} {
			if value != nil {
				change[i] = *value
			}
		}
		got[key] = change
	})
	for _, rows := range []map[string]string{plain, earlier} {
		for key := range rows {
			if plain[key] != earlier[key] {
				want[key] = [2]string{plain[key], earlier[key]}
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("changes: got %v\nwant %v", got, want)
	}
}

// After a change of one row, the maps share nearly all pieces and their text.
func TestMapSharesWhatHasNotChanged(t *testing.T) {
	rows := make(map[string]int)
	for i := range 100_000 {
		rows[fmt.Sprint(i)] = i
	}
	first := MapOf(rows)
	second := first.With(map[string]*int{"5000": new(int)})
	shared := 0
	for _, p := range second.pieces {
		for _, q := range first.pieces {
			if p == q {
				shared++
			}
		}
	}
	if got, want := len(second.pieces)-shared, 1; got != want {
		t.Errorf("got %d pieces made again of %d, want %d", got, len(second.pieces), want)
	}
	if same := first.With(map[string]*int{"7": new(7), "none": nil}); &same.pieces[0] != &first.pieces[0] {
		t.Error("a change of nothing makes another map")
	}
}

// A map of maps keeps hashes of lines and not their text, and has the hash of its text all the same,
// after changes of a row within too.
func TestTextOfNestedMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Map[Map[[]string]]
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			changes := make(map[string]*Map[[]string])
			for range rapid.IntRange(0, 300).Draw(t, "namespaces") {
				namespace := fmt.Sprint(rapid.IntRange(0, 999).Draw(t, "namespace"))
				rows := make(map[string]*[]string)
				for i := range rapid.IntRange(0, 3).Draw(t, "rows") {
					rows[fmt.Sprint("user:", i)] = &[]string{rapid.StringN(0, 5, -1).Draw(t, "binding")}
				}
				inside := m.At(namespace).With(rows)
				changes[namespace] = &inside
			}
			m = m.With(changes)
			text := m.text(TextOf([]byte("x"))).with([]byte("y\nz"))
			if text.Len() != len(text.Bytes()) {
				t.Fatalf("the length is %d, want %d", text.Len(), len(text.Bytes()))
			}
			if text.Sum() != TextOf(text.Bytes()).Sum() {
				t.Fatalf("the hash of the parts is not that of the text %s", text.Bytes())
			}
		}
	})
}

// The parts of the JSON are equal to the output of encoding/json: no field is missing.
func TestAccessAsJSON(t *testing.T) {
	for _, access := range []*Access{
		{},
		{
			Master: "<master>", Extensions: []string{"a", "b"}, ReadsClock: true, Expressions: []string{"never written"},
			Roles:    MapOf(map[string]Role{"r": {Name: "r", Kubernetes: []KubernetesRule{{KubernetesLists: &KubernetesLists{Verbs: []string{"get&"}}}}}, "q": {Name: "\u2028"}}),
			Bindings: MapOf(map[string]Binding{"b": {Role: "r", Cluster: true}}),
			Subjects: Subjects{
				Cluster:    MapOf(map[string][]string{"user:a": {"b"}}),
				Namespaces: MapOf(map[string]Map[[]string]{"x": MapOf(map[string][]string{"group:\"": {"b"}}), "y": MapOf(map[string][]string{"user:b": {"c"}})}),
			},
		},
	} {
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(access); err != nil {
			t.Fatal(err)
		}
		text, err := access.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if got := compact(t, text); got != strings.TrimSpace(want.String()) {
			t.Errorf("got  %s\nwant %s", got, &want)
		}
		if text.Sum() != TextOf(text.Bytes()).Sum() {
			t.Errorf("the hash of the parts is not that of the text %s", text.Bytes())
		}
		read := new(Access)
		if err := Decode(text.Bytes(), read); err != nil {
			t.Fatal(err)
		}
		again, err := read.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Bytes(), text.Bytes()) {
			t.Errorf("read again: got %s\nwant %s", again.Bytes(), text.Bytes())
		}
	}
}

// A finder returns the rows of its map and no others, before it has an index and afterwards.
func TestFinder(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100, 5000} {
		rows := make(map[string]int)
		for i := range n {
			rows[fmt.Sprint("row-", i)] = i
		}
		m := MapOf(rows)
		f := FinderOf(m)
		for i := range n {
			key := fmt.Sprint("row-", i)
			if got := f.Find(key); got == nil || *got != i || got != m.Find(key) {
				t.Fatalf("%s: got %v", key, got)
			}
			if own := f.Own(key); own != key || unsafe.StringData(own) == unsafe.StringData(key) {
				t.Fatalf("%s: got %q, want the text of the row", key, own)
			}
			if other := key + "x"; f.Find(other) != nil || f.Own(other) != other {
				t.Fatalf("%s is found", other)
			}
		}
		if (f.index != nil) != (n > 0) || f.Find("") != nil {
			t.Errorf("%d rows: an index of %d places", n, len(f.index))
		}
	}
}
