package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/decision"
)

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
	p.Decided(decision.Allow, 3*time.Microsecond)
	p.Decided(decision.EvaluationError, time.Second)
	m.CacheHit()
	m.CacheMissed()
	m.CacheMissed()
	m.CacheEvicted()
	m.CacheKept()
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
	m.EvaluationOverdue(2)
	m.EvaluationOverdue(-1)
	m.EvaluationRefused()
	m.Reloaded(Activated, time.Unix(1700000000, 0))
	m.Reloaded(Refused, time.Unix(1800000000, 0))
	m.Degraded(true)
	m.StateFails(true)
	m.Diagnosed(2, 3)
	m.Inherits(Inherited{Policies: map[[1]string]int{{"AuthPolicy"}: 9}})
	m.Inherits(Inherited{
		Policies: map[[1]string]int{{"RateLimitPolicy"}: 2}, Blocks: map[[3]string]int{{"RateLimitPolicy", "defaults", "merge"}: 1},
		Paths: map[[2]string]int{{"RateLimitPolicy", "false"}: 3},
	})
	m.Serves("aaa")
	m.Serves("bbb")
	got := page(t, m)
	for _, want := range []string{
		`writ_decisions_total{outcome="allow",point="access"} 1`,
		`writ_decisions_total{outcome="deny",point="access"} 0`,
		`writ_decisions_total{outcome="no_opinion",point="access"} 0`,
		`writ_decisions_total{outcome="error",point="access"} 1`,
		`writ_decision_duration_seconds_bucket{point="access",le="5e-06"} 1`,
		`writ_decision_duration_seconds_count{point="access"} 2`,
		`writ_policies{kind="RateLimitPolicy"} 2`,
		`writ_policy_blocks{block="defaults",kind="RateLimitPolicy",strategy="merge"} 1`,
		`writ_effective_paths{covered="false",kind="RateLimitPolicy"} 3`,
		`writ_cache_hits_total 1`, `writ_cache_misses_total 2`, `writ_cache_evictions_total 1`, `writ_cache_kept_total 1`, `writ_cache_entries 7`,
		`writ_http_requests_total{code="200",method="POST",route="/v1/decisions/:point"} 1`,
		`writ_http_requests_total{code="400",method="POST",route="/v1/decisions/:point"} 1`,
		`writ_http_requests_total{code="other",method="other",route="/v1/decisions/:point"} 1`,
		`writ_http_requests_in_flight 1`, `writ_http_requests_shed_total 1`, `writ_http_requests_panicked_total 1`,
		`writ_evaluations_overdue 1`, `writ_evaluations_refused_total 1`,
		`writ_reloads_total{result="activated"} 1`, `writ_reloads_total{result="refused"} 1`,
		`writ_reloads_total{result="unchanged"} 0`,
		`writ_reload_last_success_timestamp_seconds 1.7e+09`,
		`writ_degraded 1`, `writ_state_failing 1`, `writ_diagnostics{severity="error"} 2`, `writ_diagnostics{severity="warning"} 3`,
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

// Every phase has a series from the start, and other spans have none.
func TestPhases(t *testing.T) {
	m := New()
	ctx, whole := progress.Start(progress.WithObservers(t.Context(), m), progress.Reload)
	_ = progress.Do(ctx, progress.Build, func(context.Context) error { return nil })
	_ = progress.Do(ctx, progress.Build, func(context.Context) error { return errors.New("failed") })
	whole.End(nil)
	got := page(t, m)
	for _, want := range []string{
		`writ_reload_phase_duration_seconds_count{phase="build"} 2`,
		`writ_reload_phase_duration_seconds_count{phase="activate"} 0`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got no line %q", want)
		}
	}
	if strings.Contains(got, `phase="reload"`) {
		t.Error("a whole reload has a series")
	}
}

// One series of what each policy made of a pod, under the names that dashboards
// know.
func TestPodSecurity(t *testing.T) {
	m := New()
	for _, j := range []Judged{
		{Cluster: "prod", Policy: "p", Action: "deny", Evaluated: true, Score: 120, Factors: []string{"hostNetwork", "capability:A", "capability:B"}},
		{Cluster: "prod", Policy: "p", Action: "warn", Evaluated: true, Score: 40, Factors: []string{"runAsRoot"}},
		{Cluster: "prod", Policy: "p", Action: "allow", Evaluated: true},
		{Cluster: "prod", Policy: "q", Action: "allow"},
		{Policy: "q", Action: "deny"},
	} {
		m.PodJudged(j)
	}
	m.AuditDropped(AuditWebhook, 3)
	got := page(t, m)
	for _, want := range []string{
		`breakglass_pod_security_evaluations_total{action="deny",cluster="prod",policy="p"} 1`,
		`breakglass_pod_security_evaluations_total{action="warn",cluster="prod",policy="p"} 1`,
		`breakglass_pod_security_evaluations_total{action="allow",cluster="prod",policy="p"} 1`,
		`breakglass_pod_security_evaluations_total{action="allow",cluster="prod",policy="q"} 1`,
		`breakglass_pod_security_evaluations_total{action="deny",cluster="",policy="q"} 1`,
		`breakglass_pod_security_risk_score_bucket{cluster="prod",le="10"} 1`,
		`breakglass_pod_security_risk_score_bucket{cluster="prod",le="50"} 2`,
		`breakglass_pod_security_risk_score_bucket{cluster="prod",le="100"} 2`,
		`breakglass_pod_security_risk_score_bucket{cluster="prod",le="150"} 3`,
		`breakglass_pod_security_risk_score_count{cluster="prod"} 3`,
		`breakglass_pod_security_factors_total{cluster="prod",factor="hostNetwork"} 1`,
		`breakglass_pod_security_factors_total{cluster="prod",factor="capability"} 2`,
		`breakglass_pod_security_factors_total{cluster="prod",factor="runAsRoot"} 1`,
		`breakglass_pod_security_denied_total{cluster="prod",policy="p"} 1`,
		`breakglass_pod_security_denied_total{cluster="",policy="q"} 1`,
		`breakglass_pod_security_warnings_total{cluster="prod",policy="p"} 1`,
		`writ_audit_events_dropped_total{sink="webhook"} 3`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("got no line %q", want)
		}
	}
	if strings.Contains(got, `risk_score_count{cluster=""}`) || strings.Contains(got, `warnings_total{cluster="prod",policy="q"}`) {
		t.Error("a pod that was not evaluated has a score or a warning")
	}
}

// Callers choose the name of the cluster: no number of names results in
// more than a bounded number of series.
func TestClustersAreBounded(t *testing.T) {
	m := New()
	for i := range 5 * maxClusters {
		m.PodJudged(Judged{Cluster: fmt.Sprint("c", i), Policy: "p", Action: "allow"})
	}
	m.PodJudged(Judged{Cluster: strings.Repeat("x", 1000), Policy: "p", Action: "allow"})
	got := page(t, m)
	if series := strings.Count(got, "breakglass_pod_security_evaluations_total{"); series != maxClusters+1 {
		t.Errorf("got %d series, want %d", series, maxClusters+1)
	}
	if want := fmt.Sprintf(`{action="allow",cluster="other",policy="p"} %d`, 4*maxClusters+1); !strings.Contains(got, want) {
		t.Errorf("got no %s", want)
	}
}

// What the page shows and what the list says are the same names.
func TestNames(t *testing.T) {
	m := New()
	m.Point("access")
	m.Route("/").Answered("POST", 200)
	m.Serves("r")
	m.ByOPA(map[string]bool{"access": true})
	m.ReadDated(func() Dated { return Dated{Sessions: 2, DebugSessions: 1, Next: time.Unix(7, 0)} })
	m.ReadCompanions(func() map[string]bool { return map[string]bool{"c": true} })
	m.Inherits(Inherited{
		Policies: map[[1]string]int{{"k"}: 1}, Enforced: map[[2]string]int{{"k", "true"}: 1}, Blocks: map[[3]string]int{{"k", "bare", "atomic"}: 1},
		Replaced: map[[2]string]int{{"k", "default"}: 1}, Unset: map[[1]string]int{{"k"}: 1}, Paths: map[[2]string]int{{"k", "true"}: 1},
	})
	for _, action := range []string{"warn", "deny"} {
		m.PodJudged(Judged{Cluster: "c", Policy: "p", Action: action, Evaluated: true, Factors: []string{"hostPID"}})
	}
	listed := map[string]string{}
	for _, i := range instruments {
		listed[i.name] = i.kind
	}
	shown := regexp.MustCompile(`(?m)^# TYPE ((?:writ|breakglass)_\S+) (\S+)$`).FindAllStringSubmatch(page(t, m), -1)
	if len(shown) != len(instruments) {
		t.Errorf("got %d instruments on the page, want %d", len(shown), len(instruments))
	}
	valid := regexp.MustCompile(`^(writ|breakglass_pod_security)_[a-z]+(_[a-z]+)*$`)
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
