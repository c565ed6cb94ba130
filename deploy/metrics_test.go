// Package deploy has the files to run writ: chart, kustomize base, systemd unit, dashboard
// and alerts. Its tests compare them with the program.
package deploy

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The dashboard and the alerts name only metrics that the server has: others show nothing
// and never fire.
func TestMetricsExist(t *testing.T) {
	reference := read(t, "../docs/reference.md")
	known := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(writ_[a-z_]+)` \\| (\\w+) \\|").FindAllStringSubmatch(reference, -1) {
		known[row[1]] = row[2]
	}
	if len(known) < 20 {
		t.Fatalf("found %d metrics in the reference, which cannot be all", len(known))
	}
	for _, path := range []string{"grafana/writ.json", "helm/writ/files/alerts.yaml", "prometheus/alerts_test.yaml"} {
		names := regexp.MustCompile(`\bwrit_[a-z_]+`).FindAllString(read(t, path), -1)
		if len(names) < 10 {
			t.Errorf("%s names %d metrics, which cannot be all", path, len(names))
		}
		for _, name := range names {
			base := strings.TrimSuffix(name, "_bucket")
			if kind, found := known[base]; !found || (base != name) != (kind == "histogram") {
				t.Errorf("%s: %s is not a metric of the server", path, name)
			}
		}
	}
}

// Grafana reads the dashboard, and each of its panels has a query.
func TestDashboard(t *testing.T) {
	var dashboard struct {
		UID    string
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "grafana/writ.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	if dashboard.UID == "" || len(dashboard.Panels) < 10 {
		t.Errorf("got %+v", dashboard)
	}
	seen := map[int]bool{}
	for _, panel := range dashboard.Panels {
		if seen[panel.ID] || panel.Title == "" || len(panel.Targets) == 0 {
			t.Errorf("panel %d %q: a number of its own, a title and a query are required", panel.ID, panel.Title)
		}
		seen[panel.ID] = true
		for _, target := range panel.Targets {
			if !strings.Contains(target.Expr, `job=~"$job"`) {
				t.Errorf("panel %q: %s is not about the chosen job", panel.Title, target.Expr)
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The Job has a part for each of its pods, and flags that writ replay has.
func TestReplayJob(t *testing.T) {
	job := read(t, "replay/job.yaml")
	completions := regexp.MustCompile(`(?m)^  completions: (\d+)$`).FindStringSubmatch(job)
	shard := regexp.MustCompile(`(?m)^ +- \$\(JOB_COMPLETION_INDEX\)/(\d+)$`).FindStringSubmatch(job)
	if completions == nil || shard == nil || completions[1] != shard[1] {
		t.Errorf("got %q completions and %q parts", completions, shard)
	}
	_, reference, _ := strings.Cut(read(t, "../docs/reference.md"), "### writ replay\n")
	flags := regexp.MustCompile(`(?m)^ +- (--[a-z-]+)$`).FindAllStringSubmatch(job, -1)
	for _, flag := range flags {
		if !strings.Contains(reference, flag[1]) {
			t.Errorf("writ replay has no flag %s", flag[1])
		}
	}
	if len(flags) < 5 {
		t.Errorf("found %d flags, which cannot be all", len(flags))
	}
}
