package exchange

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// slow is a connection whose client reads nothing before read is closed.
type slow struct {
	*httptest.ResponseRecorder
	begun chan<- struct{}
	read  <-chan struct{}
}

func (s slow) Write(b []byte) (int, error) {
	s.begun <- struct{}{}
	<-s.read
	return s.ResponseRecorder.Write(b[:1])
}

// Slow readers do not hold places, so that a budget bounds what their answers take. It is free
// again afterwards, and small answers need nothing of it.
func TestAnswersThatAreBeingSent(t *testing.T) {
	s := New(Options{
		Current: func() decision.Policies { return decision.Unavailable("none") }, Metrics: metrics.New(), MaxInFlight: 1, Timeout: time.Second,
	})
	answering := func(size int) http.HandlerFunc {
		answer := make([]byte, size)
		return s.List(List{Form: Problem, Answer: func(*http.Request, decision.Policies) ([]byte, *Refusal) { return answer, nil }})
	}
	const size = 4 << 20
	large, small := answering(size), answering(freeAnswer)
	status := func(h http.HandlerFunc) int {
		w := httptest.NewRecorder()
		h(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return w.Code
	}
	begun, read := make(chan struct{}), make(chan struct{})
	var readers sync.WaitGroup
	const most = (maxAnswers - maxAnswers/4) / size
	for range most {
		readers.Go(func() {
			large(slow{httptest.NewRecorder(), begun, read}, httptest.NewRequest(http.MethodGet, "/", nil))
		})
		<-begun
	}
	if got := status(large); got != http.StatusServiceUnavailable {
		t.Errorf("a large answer beside %d others: got %d", most, got)
	}
	for name, h := range map[string]http.HandlerFunc{"small": small, "medium": answering(freeAnswer + 1)} {
		if got := status(h); got != http.StatusOK {
			t.Errorf("a %s answer: got %d", name, got)
		}
	}
	close(read)
	readers.Wait()
	if got := status(large); got != http.StatusOK || s.answers.Held() != 0 {
		t.Errorf("afterwards: got %d, and %d bytes are held", got, s.answers.Held())
	}
}

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
