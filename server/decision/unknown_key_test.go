package decision

import (
	"errors"
	"testing"

	"github.com/writ-policy/writ/internal/jsontext"
)

func TestUnknownKey(t *testing.T) {
	for _, row := range []struct{ name, request, want string }{
		{"misspelt", `{"user":"u","verb":"get","resources":"pods"}`, `unknown key "resources", did you mean "resource"?`},
		{"another case", `{"User":"u"}`, `unknown key "User", did you mean "user"?`},
		{"swapped", `{"user":"u","vebr":"get"}`, `unknown key "vebr", did you mean "verb"?`},
		{"nothing is near", `{"user":"u","operation":"get"}`, `unknown key "operation"`},
		{"of several lines", "{\n  \"user\": \"u\",\n  \"vreb\": \"get\"\n}", `line 3: unknown key "vreb", did you mean "verb"?`},
		{"after values that have it", "{\"labels\": {\"vreb\": \"x\"}, \"name\": \"vreb\",\n\"groups\": [\"vreb\"],\n\"vreb\": 1}", `line 3: unknown key "vreb", did you mean "verb"?`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Decode[Request]([]byte(row.request))
			var got *InvalidRequest
			if !errors.As(err, &got) || got.Error() != row.want {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
	if _, err := DecodeGateway([]byte(`{"request":{},"sources":{}}`)); err == nil || err.Error() != `unknown key "sources", did you mean "source"?` {
		t.Errorf("gateway: got %v", err)
	}
	_, err := decodeVisibility([]byte(`{"user":"u","clusters":{}}`))
	if err == nil || err.Error() != `unknown key "clusters", did you mean "cluster"?` {
		t.Errorf("visibility: got %v", err)
	}
}

// Each suggestion is a key that a request may have.
func TestSuggestedKeysAreKnown(t *testing.T) {
	for _, key := range accessKeys {
		if err := new(Request).parseMember(key, jsontext.ValueOf("null")); errors.Is(err, errUnknownKey) {
			t.Errorf("access: %s: %v", key, err)
		}
	}
	for _, key := range visibilityKeys {
		if err := new(VisibilityRequest).parseMember(key, jsontext.ValueOf("null")); errors.Is(err, errUnknownKey) {
			t.Errorf("visibility: %s: %v", key, err)
		}
	}
}
