package effective

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/tables"
)

func TestRedact(t *testing.T) {
	const call = `{"http":{"url":"https://u:s3cret@a.example/{auth.identity.sub}?key=s3cret&x={request.path}","method":"POST",
		"headers":{"authorization":{"value":"Bearer s3cret"},"x":{"expression":"'s3cret' + request.path"}},
		"bodyParameters":{"client_secret":{"value":"s3cret"}},"body":{"value":"s3cret"},"sharedSecretRef":{"name":"ref","key":"k"},
		"oauth2":{"tokenUrl":"https://u:s3cret@b.example","clientId":"id","extraParams":{"p":"s3cret"},"clientSecretRef":{"name":"ref","key":"k"}}}}`
	for _, tt := range []struct{ name, key, value, want string }{
		{"an HTTP call", "rules.metadata.a", call, `{"http":{"body":{"value":"(redacted)"},"bodyParameters":{"client_secret":{"value":"(redacted)"}},` +
			`"headers":{"authorization":{"value":"(redacted)"},"x":{"expression":"\"(redacted)\" + request.path"}},"method":"POST",` +
			`"oauth2":{"clientId":"id","clientSecretRef":{"key":"k","name":"ref"},"extraParams":{"p":"(redacted)"},"tokenUrl":"https://(redacted)@b.example"},` +
			`"sharedSecretRef":{"key":"k","name":"ref"},"url":"https://(redacted)@a.example/{auth.identity.sub}?key=(redacted)&x={request.path}"}}`},
		{"a callback", "rules.callbacks.a", call, ""},
		{"a URL of keys", "rules.authentication.a", `{"jwt":{"jwksUrl":"https://u:s3cret@a.example/keys"}}`, `{"jwt":{"jwksUrl":"https://(redacted)@a.example/keys"}}`},
		{"a header with credentials", "rules.response.success.headers.Authorization", `{"plain":{"value":"s3cret"}}`, `{"plain":{"value":"(redacted)"}}`},
		{"a header with credentials under another name", "rules.response.success.headers.x", `{"key":"x-api-key","plain":{"expression":"'s3cret'"}}`, `{"key":"x-api-key","plain":{"expression":"\"(redacted)\""}}`},
		{"another header", "rules.response.success.headers.x-user", `{"plain":{"value":"plain text"}}`, `{"plain":{"value":"plain text"}}`},
		{"another rule", "limits.a", `{"rates":[{"limit":5,"window":"1m"}]}`, `{"rates":[{"limit":5,"window":"1m"}]}`},
	} {
		var value any
		if err := json.Unmarshal([]byte(tt.value), &value); err != nil {
			t.Fatal(err)
		}
		before, _ := json.Marshal(value)
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(redact(tt.key, value)); err != nil {
			t.Fatal(err)
		}
		got := strings.TrimSpace(b.String())
		if strings.Contains(got, "s3cret") || tt.want != "" && got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		if after, _ := json.Marshal(value); string(after) != string(before) {
			t.Errorf("%s: the value was changed", tt.name)
		}
	}
}

// The value of a rule that was replaced is redacted as that of a rule in force.
func TestReplacedValuesAreRedacted(t *testing.T) {
	found := replaced(&tables.Replacement{Rule: "rules.response.success.headers.Authorization", Value: map[string]any{"plain": map[string]any{"value": "s3cret"}}})
	if text, err := json.Marshal(found.Value); err != nil || string(text) != `{"plain":{"value":"(redacted)"}}` {
		t.Errorf("got %s, %v", text, err)
	}
}
