package tables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/writ-policy/writ/internal/jsontext"
)

// decodeSplit decodes the JSON of a table as a bundle does that is read.
func decodeSplit(t *testing.T, text []byte, table Table) error {
	t.Helper()
	var packed Text
	object, err := jsontext.Split(bytes.NewReader(text), func(block []byte) { packed = packed.WithPacked(block) })
	if err != nil || object == nil || !bytes.Equal(packed.Bytes(), text) {
		t.Fatalf("the text is split into %v, %v", object, err)
	}
	return DecodeObject(object, func() func(*jsontext.Member) ([]byte, error) {
		var room bytes.Buffer
		return func(m *jsontext.Member) ([]byte, error) { return m.AppendObject(nil, packed.Part(m.Block, &room)), nil }
	}, table)
}

// A table of many blocks is read as it was written, and lists that
// rows have in common are held once.
func TestDecodeLargeTable(t *testing.T) {
	roles := make(map[string]Role)
	for i := range 8_000 {
		rule := KubernetesRule{Rule: 1, Source: fmt.Sprintf("f.yaml:%d", i), KubernetesLists: &KubernetesLists{Verbs: []string{"get", "list"}, Names: []string{fmt.Sprint("n-", i)}}}
		roles[fmt.Sprintf("r-%d", i)] = Role{Family: FamilyKubernetes, Name: fmt.Sprintf("r-%d", i), Kubernetes: []KubernetesRule{rule}}
	}
	one, many := make(map[string][]string), make(map[string]Map[[]string])
	for i := range 4_000 {
		one[fmt.Sprint("user:u-", i)] = []string{fmt.Sprint("b-", i)}
		many[fmt.Sprint("n-", i)] = MapOf(map[string][]string{"user:a": {"b"}})
	}
	many["large"] = MapOf(one)
	want, err := (&Access{Master: "m", Roles: MapOf(roles), Subjects: Subjects{Cluster: MapOf(one), Namespaces: MapOf(many)}, ReadsClock: true}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	read := new(Access)
	if err := decodeSplit(t, want.Bytes(), read); err != nil {
		t.Fatal(err)
	}
	got, err := read.JSON()
	if err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("the table that is read differs, %v", err)
	}
	lists := make(map[*string]int)
	for _, role := range read.Roles.All() {
		lists[unsafe.SliceData(role.Kubernetes[0].Verbs)]++
		if rule := &role.Kubernetes[0]; rule.Names[0] != "n-"+role.Name[2:] || cap(rule.Verbs) != 2 {
			t.Fatalf("%s has %+v, and room for %d verbs", role.Name, rule, cap(rule.Verbs))
		}
	}
	if len(lists) > 3 {
		t.Errorf("%d lists of verbs, want one of each goroutine", len(lists))
	}
}

// What only Decode reads, and what is wrong, are errors of a split text too.
func TestDecodeSplitIsStrict(t *testing.T) {
	var members []string
	for i := range 1000 {
		members = append(members, fmt.Sprintf(`"k-%03d":%q`, i, strings.Repeat("x", 1000)))
	}
	large := "{" + strings.Join(members, ",") + "}"
	for text, want := range map[string]string{
		`{"other":` + large + `}`:                         `unknown field "other"`,
		`{"master":` + large + `}`:                        "whole",
		`{"roles":` + large + `}`:                         "cannot unmarshal",
		`{"Master":"m","roles":` + large + `}`:            `unknown field "Master"`,
		`{"subjects":{"namespaces":{"n":` + large + `}}}`: "cannot unmarshal",
	} {
		if err := decodeSplit(t, []byte(text), new(Access)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %v, want %q", text, err, want)
		}
	}
}

// Values of other types, and names that are not exactly those of fields, are errors.
func TestDecodeIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		`{"master":"m","extra":1}`:                      `unknown field "extra"`,
		`{"Master":"m"}`:                                `unknown field "Master"`,
		`{"m\u0061ster":"m"}`:                           `unknown field "master"`,
		`{"roles":{"r":{"Name":"x"}}}`:                  `unknown field "Name"`,
		`{"roles":[]}`:                                  "cannot unmarshal",
		`{"master":7}`:                                  "cannot unmarshal",
		`{"extensions":"x"}`:                            "cannot unmarshal",
		`{"extensions":["x",1]}`:                        "cannot unmarshal",
		`{"readsClock":"true"}`:                         "cannot unmarshal",
		`{"roles":{"r":{"kubernetes":[{"rule":1.5}]}}}`: "cannot unmarshal",
		`{"subjects":{"cluster":{"user:a":{}}}}`:        "cannot unmarshal",
		`{"roles":{"r":{"kubernetes":[null]}}}`:         "null in a list",
		`{"master":null,"roles":{"r":null}}`:            "",
	} {
		err := Decode([]byte(text), new(Access))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// encoding/json reads a map as well.
func TestUnmarshalMap(t *testing.T) {
	var m Map[Role]
	if err := json.Unmarshal([]byte(`{"r":{"name":"x"}}`), &m); err != nil || m.At("r").Name != "x" {
		t.Errorf("got %+v, %v", m.At("r"), err)
	}
	if err := json.Unmarshal([]byte(`[1]`), &m); err == nil {
		t.Error("a list is read as a map")
	}
}

// Numbers of free values keep their digits.
func TestDecodeKeepsDigits(t *testing.T) {
	read := new(Access)
	const text = `{"roles":{"r":{"origin":[{"restrictions":{"extension":"e","params":{"n":12345678901234567890.10,"l":[1.0,{"a":null}]}}}]}}}`
	if err := Decode([]byte(text), read); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(read.Roles.At("r").Origin[0].Restrictions.Params); got != "map[l:[1.0 map[a:<nil>]] n:12345678901234567890.10]" {
		t.Errorf("got %s", got)
	}
}

// Names that a bundle repeats are held once: those of a row are parts of its key, and other rows refer to
// it by that key. A row whose key is of other names has its own.
func TestDecodeSharesNames(t *testing.T) {
	const text = `{"master":"m","roles":{"kubernetes:n/r":{"family":"kubernetes","namespace":"n","name":"r"},"odd":{"family":"kubernetes","namespace":"n","name":"r"}},
"bindings":{"kubernetes:n/b-1":{"family":"kubernetes","namespace":"n","name":"b-1","role":"kubernetes:n/r"},"kubernetes:n/b-2":{"role":"none"}},
"subjects":{"cluster":{"user:a":["kubernetes:n/b-1"]},"namespaces":{"n":{"group:b":["kubernetes:n/b-1","missing"]}}}}`
	a := new(Access)
	if err := Decode([]byte(text), a); err != nil {
		t.Fatal(err)
	}
	within := func(part, whole string) bool {
		from, at := uintptr(unsafe.Pointer(unsafe.StringData(whole))), uintptr(unsafe.Pointer(unsafe.StringData(part)))
		return at >= from && at+uintptr(len(part)) <= from+uintptr(len(whole))
	}
	role, binding := a.Roles.row("kubernetes:n/r"), a.Bindings.row("kubernetes:n/b-1")
	for _, c := range [][2]string{
		{role.value.Namespace, role.key}, {role.value.Name, role.key}, {binding.value.Namespace, binding.key}, {binding.value.Name, binding.key},
		{binding.value.Role, role.key}, {a.Subjects.Cluster.At("user:a")[0], binding.key}, {a.Subjects.Namespaces.At("n").At("group:b")[0], binding.key},
	} {
		if part, whole := c[0], c[1]; !within(part, whole) {
			t.Errorf("%q is not a part of %q", part, whole)
		}
	}
	if odd := a.Roles.At("odd"); odd.Namespace != "n" || odd.Name != "r" || role.value.Namespace != "n" || binding.value.Name != "b-1" {
		t.Errorf("got %+v, %+v, %+v", odd, role.value, binding.value)
	}
	if other := a.Bindings.At("kubernetes:n/b-2"); other.Role != "none" || a.Subjects.Namespaces.At("n").At("group:b")[1] != "missing" {
		t.Errorf("got %+v", other)
	}
}
