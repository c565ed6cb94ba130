package page

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/console"
)

// A chart of 15 minutes ends now: the few points of a process that has just begun stand at its
// right edge.
func TestChartEndsNow(t *testing.T) {
	points := []console.RatePoint{{Allow: 1}, {Allow: 2}}
	c := chartOf(points, 0, (*console.RatePoint).PerSecond)
	if want := "238.7,20 240,3"; c.Line != want {
		t.Errorf("two points are drawn at %s, want %s", c.Line, want)
	}
	if !strings.HasPrefix(c.Area, "238.7,40 ") || !strings.HasSuffix(c.Area, " 240,40") {
		t.Errorf("the area is %s, want it below the line alone", c.Area)
	}
	if whole := chartOf(make([]console.RatePoint, chartPoints), 0, (*console.RatePoint).PerSecond); !strings.HasPrefix(whole.Line, "0,") {
		t.Errorf("15 minutes begin at %.20s, want the left edge", whole.Line)
	}
}

// The log names a decision as the view Ask does: one that permits a part is not "Allowed".
func TestLogNamesPartialDecisions(t *testing.T) {
	for decision, want := range map[string]string{`{"decision":"partial"}`: "Partly", `{"decision":"allow"}`: "Allowed", `{"allowed":true}`: "Allowed"} {
		e := entriesOf([]console.Entry{{Outcome: console.Allow, Point: "visibility", Decision: json.RawMessage(decision)}})[0]
		if e.Badge.Word != want {
			t.Errorf("%s: got %q, want %q", decision, e.Badge.Word, want)
		}
	}
	for request, want := range map[string]string{
		`{"cluster":{"name":"vault"}}`: "view cluster vault", `{"type":"pods","cluster":{"name":"vault"}}`: "view pods of vault", `{"type":"x"}`: "view x",
		`{"cluster":"prod","verb":"get","resource":"pods"}`: "get pods",
	} {
		if got := what(json.RawMessage(request)); got != want {
			t.Errorf("%s: got %q, want %q", request, got, want)
		}
	}
}

// The log names the session that a reason names: of several the one with the latest end.
func TestLogNamesTheLastSession(t *testing.T) {
	for via, want := range map[string]string{
		`[{"name":"a","until":"2026-03-01T10:00:00Z"},{"name":"b","until":"2026-03-01T10:00:00.5Z"},{"name":"c","until":"2026-03-01T09:00:00Z"}]`: "b",
		`[{"name":"a","until":"2026-03-01T10:00:00Z"},{"name":"b","until":"2026-03-01T10:00:00Z"}]`:                                               "a",
		`[{"name":"a","until":"2026-03-01T10:00:00Z"},{"name":"b"}]`:                                                                              "b",
		`[]`: "",
	} {
		text := `{"allowed":true,"matched":[{"kind":"RoleBinding","name":"x","via":` + via + `}]}`
		if e := entriesOf([]console.Entry{{Outcome: console.Allow, Point: "access", Decision: json.RawMessage(text)}})[0]; e.Via != want {
			t.Errorf("%s: got %q, want %q", via, e.Via, want)
		}
	}
}

// A session states from which identity provider its user comes, unless it is for any.
func TestSessionNamesItsProvider(t *testing.T) {
	none, corp := "", "https://corp"
	for want, issuer := range map[string]*string{"": nil, "for requests that state no identity provider": &none, "for users of https://corp": &corp} {
		if got := rowOfSession(&console.Session{Issuer: issuer}, time.Time{}).Provider; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
