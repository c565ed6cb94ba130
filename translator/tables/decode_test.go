package tables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

// A table of more rows than one goroutine decodes is read as it was written, and lists that
// rows have in common are held once.
func TestDecodeLargeTable(t *testing.T) {
	roles := make(map[string]Role)
	for i := range 2*rowsPerDecoder + 1 {
		rule := KubernetesRule{Rule: 1, Source: fmt.Sprintf("f.yaml:%d", i), KubernetesLists: &KubernetesLists{Verbs: []string{"get", "list"}, Names: []string{fmt.Sprint("n-", i)}}}
		roles[fmt.Sprintf("r-%d", i)] = Role{Family: FamilyKubernetes, Name: fmt.Sprintf("r-%d", i), Kubernetes: []KubernetesRule{rule}}
	}
	want, err := (&Access{Roles: MapOf(roles)}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	read := new(Access)
	if err := Decode(want.Bytes(), read); err != nil {
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
