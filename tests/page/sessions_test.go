package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/writ-policy/writ/server"
)

// emergency are sessions around a time, and the escalation that they are of.
func emergency(now time.Time) string {
	const head = "---\napiVersion: breakglass.t-caas.telekom.com/v1alpha1\n"
	at := func(hours int) string { return now.Add(time.Duration(hours) * time.Hour).UTC().Format(time.RFC3339) }
	session := func(name, user string, from, until int) string {
		return head + fmt.Sprintf(`kind: BreakglassSession
metadata: {name: %s, namespace: bg}
spec: {cluster: prod-eu-1, user: %s, grantedGroup: shop-developers}
status: {state: Approved, approvedAt: "%s", expiresAt: "%s"}
`, name, user, at(from), at(until))
	}
	return session("fix-1", "nora", -1, 3) + session("fix-2", "tom", 5, 9) + session("fix-3", "lee", -9, -5) + head + `kind: BreakglassEscalation
metadata: {name: shop-fix, namespace: bg}
spec:
  escalatedGroup: shop-developers
  allowed: {clusters: [prod-eu-1], groups: [sre]}
  approvers: {groups: [sre, leads]}
` + head + fmt.Sprintf(`kind: DebugSession
metadata: {name: crash, namespace: bg}
spec: {cluster: prod-eu-1}
status:
  state: Active
  expiresAt: "%s"
  allowedPods: [{namespace: shop, name: web-0}]
  participants: [{user: eve, role: owner}]
`, at(40))
}

// Sessions are found with their ends; each that holds leads to a decision that names it, and
// the overview says what ends. Without sessions the view says what would stand there.
func TestSessions(t *testing.T) {
	requireBrowser(t)
	s := newSite(t, func(c *server.Config) {
		if err := os.WriteFile(filepath.Join(c.Policies[0], "emergency.yaml"), []byte(emergency(time.Now())), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	script := axe(t)
	for _, l := range looks() {
		t.Run(l.String(), func(t *testing.T) {
			b := newTab(t, s.base, l)
			b.open("/page/")
			if got := b.text(b.find("region", "Ending access Sessions")); !strings.Contains(got, "1 session and 1 debug session hold now") || !strings.Contains(got, "1 document or session in force ends") {
				t.Errorf("the overview says %s", got)
			}
			b.goes(func() { b.press("g", "e") })
			for _, view := range []string{"/page/sessions", "/page/sessions?state=holds&cluster=prod-eu-1&user=nora"} {
				if b.path() != view {
					b.open(view)
				}
				for _, f := range b.findings(script) {
					t.Errorf("%s: %s: %s %+v", view, f.ID, f.Help, f.Nodes)
				}
				if wide := get(b, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`)); wide > l.width {
					t.Errorf("%s: %d pixels wide in a window of %d", view, wide, l.width)
				}
			}
			if got := b.text(b.find("table", "Who holds what 1 session")); !strings.Contains(got, "holds now") || !strings.Contains(got, "within a day") || strings.Contains(got, "tom") {
				t.Errorf("the session that holds is %s", got)
			}
			if got := b.text(b.find("table", "Who could get it 1 escalation on prod-eu-1")); !strings.Contains(got, "group leads") || !strings.Contains(got, "in both: group sre") {
				t.Errorf("the escalation is %s", got)
			}
			b.click("link", "Ask for nora")
			if got := b.text(b.find("region", "Answer")); !strings.Contains(got, "Allowed") || !strings.Contains(got, "via session fix-1") || !strings.Contains(got, "until ") {
				t.Errorf("the answer is %s", got)
			}
			b.open("/page/sessions?state=begins")
			if got := b.text(b.find("table", "Who holds what 1 session")); !strings.Contains(got, "tom") || !strings.Contains(got, "begins ") || len(b.all("link", "Ask for tom")) > 0 {
				t.Errorf("the session that begins is %s", got)
			}
		})
	}
	b := newTab(t, shared(t).base, desktop)
	b.open("/page/sessions")
	if got := b.text(b.find("main", "")); !strings.Contains(got, "No session holds") || !strings.Contains(got, "No group can be requested") {
		t.Errorf("without sessions: got %s", got)
	}
}
