package metrics

import (
	"flag"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the table in the manual")

func page(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("got %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestPage(t *testing.T) {
	m := New()
	p := m.Point("access")
	p.Decided(Allow, 3*time.Microsecond)
	p.Decided(Trouble, time.Second)
	m.CacheHit()
	m.CacheMissed()
	m.CacheMissed()
	m.CacheEvicted()
	m.CacheHolds(7)
	route := m.Route("/v1/decisions/:point")
	route.Answered("POST", 200)
	route.Answered("POST", 400)
	route.Answered("BREW", 999)
	m.Began()
	m.Began()
	m.Ended()
	m.Shed()
	m.Panicked()
	m.Reloaded(Activated, time.Unix(1700000000, 0))
	m.Reloaded(Refused, time.Unix(1800000000, 0))
	m.Degraded(true)
	m.Diagnosed(2, 3)
	m.Serves("aaa")
	m.Serves("bbb")
	got := page(t, m)
	for _, want := range []string{
		`writ_decisions_total{outcome="allow",point="access"} 1`,
		`writ_decisions_total{outcome="deny",point="access"} 0`,
		`writ_decisions_total{outcome="no_opinion",point="access"} 0`,
		`writ_decisions_total{outcome="trouble",point="access"} 1`,
		`writ_decision_duration_seconds_bucket{point="access",le="5e-06"} 1`,
		`writ_decision_duration_seconds_count{point="access"} 2`,
		`writ_cache_hits_total 1`, `writ_cache_misses_total 2`, `writ_cache_evictions_total 1`, `writ_cache_entries 7`,
		`writ_http_requests_total{code="200",method="POST",route="/v1/decisions/:point"} 1`,
		`writ_http_requests_total{code="400",method="POST",route="/v1/decisions/:point"} 1`,
		`writ_http_requests_total{code="other",method="other",route="/v1/decisions/:point"} 1`,
		`writ_http_requests_in_flight 1`, `writ_http_requests_shed_total 1`, `writ_http_requests_panicked_total 1`,
		`writ_reloads_total{result="activated"} 1`, `writ_reloads_total{result="refused"} 1`,
		`writ_reloads_total{result="unchanged"} 0`,
		`writ_reload_last_success_timestamp_seconds 1.7e+09`,
		`writ_degraded 1`, `writ_diagnostics{severity="error"} 2`, `writ_diagnostics{severity="warning"} 3`,
		`writ_revision_info{revision="bbb"} 1`, "go_goroutines ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got no line %q", want)
		}
	}
	if strings.Contains(got, "aaa") {
		t.Error("the revision before still has a series")
	}
}

// What the page shows and what the list says are the same names.
func TestNames(t *testing.T) {
	m := New()
	m.Point("access")
	m.Route("/").Answered("POST", 200)
	m.Serves("r")
	listed := map[string]string{}
	for _, i := range instruments {
		listed[i.name] = i.kind
	}
	shown := regexp.MustCompile(`(?m)^# TYPE (writ_\S+) (\S+)$`).FindAllStringSubmatch(page(t, m), -1)
	if len(shown) != len(instruments) {
		t.Errorf("got %d instruments on the page, want %d", len(shown), len(instruments))
	}
	valid := regexp.MustCompile(`^writ_[a-z]+(_[a-z]+)*$`)
	for _, match := range shown {
		name, kind := match[1], match[2]
		if listed[name] != kind {
			t.Errorf("%s: got a %s, the list has %q", name, kind, listed[name])
		}
		if !valid.MatchString(name) || (kind == "counter") != strings.HasSuffix(name, "_total") {
			t.Errorf("%s: not named as a %s is", name, kind)
		}
	}
}

// The table in the manual is the list. Run with -update to rewrite it.
func TestManual(t *testing.T) {
	const manual, begin, end = "../README.md", "<!-- metrics: begin -->\n", "<!-- metrics: end -->"
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	table, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no place for the table", manual)
	}
	if *update {
		if os.Getenv("CI") != "" {
			t.Fatal("-update is for people")
		}
		if err := os.WriteFile(manual, []byte(before+begin+Table()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != Table() {
		t.Errorf("the table of metrics in %s is not the list; run this test with -update", manual)
	}
}
