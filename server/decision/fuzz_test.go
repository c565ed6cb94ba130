package decision

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzDecode checks that nothing panics; that every accepted body is JSON for
// encoding/json too, with the same values, and survives encoding; and that a body refused
// as not JSON is refused by encoding/json.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"user":"u","verb":"get","resource":"pods"}`,
		`{"user":"","groups":["g"],"verb":"get","path":"/x","extra":{"a":["b"]},"fields":[],"labels":{}}`,
		`{"user":"\ud83d\ude00\u0000\"","verb":"é","resource":"p","attributes":{"a":[1,-0.5e+9,true,null,{"b":{}}]}}`,
		`{"user":"u","verb":"get","resource":"pods","pod":{"spec":{"a":1e400}},"user":"v"}`,
		` [1, 2] `, `"\ud800"`, `{"a":{"a":1},"b":[{"a":2}]}`, "{\"a\":\"\xff\"}", `01`, `-`, `1.`, `[[[[`, `{"\u0061":1,"a":2}`, `nul`, `{"a":1]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := checkJSON(data)
		if err == nil {
			checkValue(t, data)
		} else if text := err.Error(); utf8.Valid(data) && json.Valid(data) &&
			!strings.Contains(text, "twice") && !strings.Contains(text, "surrogate") && !strings.Contains(text, "deeper") && !strings.Contains(text, "a number") {
			t.Fatalf("refused JSON: %v", err)
		}
		r, decodeErr := Decode[Request](data)
		if decodeErr != nil {
			AsInvalidRequest(decodeErr).Body()
			return
		}
		if err != nil {
			t.Fatalf("decoded what the check refuses: %v", err)
		}
		again, err := Decode[Request](r.Encode())
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("encoded and decoded: got %#v, %v, want %#v", again, err, r)
		}
	})
}

func checkValue(t *testing.T, data []byte) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var want any
	if err := decoder.Decode(&want); err != nil {
		t.Fatalf("accepted a body that is not JSON: %v", err)
	}
	value, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if got := value.Any(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %#v, want %#v", got, want)
	}
	encoded := AppendValue(nil, want)
	if again, err := Parse(encoded); err != nil || !reflect.DeepEqual(again.Any(), want) {
		t.Fatalf("encoded as %s: %v", encoded, err)
	}
}
