package exchange

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestBudget(t *testing.T) {
	s := &Service{Options: Options{Timeout: 10 * time.Second}}
	for _, tt := range []struct {
		query string
		want  time.Duration
	}{
		{"", 10 * time.Second},
		{"timeout=3s", 2700 * time.Millisecond},
		{"a=b&timeout=1s", 900 * time.Millisecond},
		{"timeout=1h", 10 * time.Second},
		{"timeout=10.5s", 9450 * time.Millisecond},
		{"timeout=-1s", 10 * time.Second},
		{"timeout=0s", 10 * time.Second},
		{"timeout=soon", 10 * time.Second},
		{"timeout=", 10 * time.Second},
	} {
		if got := s.Budget(httptest.NewRequest(http.MethodPost, "/?"+tt.query, nil)); got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.query, got, tt.want)
		}
	}
}

func TestLine(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"plain", "allowed by RoleBinding a/b", "allowed by RoleBinding a/b"},
		{"letters", "für 名前 😀", "für 名前 😀"},
		{"line feeds", "a\nb\r\nc", "a b  c"},
		{"escapes", "a\x1b[31mb\x00\x7f\u0085", "a [31mb   "},
		{"separators", "a\u2028b\u2029", "a b "},
		{"direction", "a\u202eb\u2066c\u200f", "a b c "},
		{"after letters", "é\n", "é "},
		{"no UTF-8", "a\xffb", "a\ufffdb"},
		{"too long", strings.Repeat("a", 40), strings.Repeat("a", 27) + "..."},
		{"cut inside a rune", strings.Repeat("é", 20), strings.Repeat("é", 13) + "..."},
		{"just fits", strings.Repeat("a", 30), strings.Repeat("a", 30)},
	} {
		if got := Line(tt.text, 30); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
