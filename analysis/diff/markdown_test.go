package diff_test

import (
	"fmt"
	"strings"
	"testing"
)

// Markdown is read in a row of a table and not in a summary, which is an HTML element.
func TestNamesAreEscaped(t *testing.T) {
	before := allowed("r", `{verbs: [get], apiGroups: [""], resources: [pods]}`, "dev")
	after := append(before[:2:2], allowed("s", `{verbs: [get], apiGroups: [""], resources: [pods], resourceNames: [a_b]}`, `"*<b>|x\\\n@all*"`)...)
	got := compare(t, before, after).Markdown(1)
	for _, want := range []string{
		"| **gain** | group \\*&lt;b&gt;\\|x&#92;&#92;u000a@&#8203;all\\* gets ClusterRole s in all namespaces (get pods with name a\\_b) |",
		"<summary>group *&lt;b&gt;|x\\\\u000a@&#8203;all* gets ClusterRole s in all namespaces (get pods with name a_b)</summary>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s in it", got, want)
		}
	}
}

// A comment has a greatest length: groups are left out from the end, and counted.
func TestMarkdownIsBounded(t *testing.T) {
	before := allowed("r", `{verbs: [get], apiGroups: [""], resources: [pods]}`, "dev")
	after := before[:2:2]
	const groups = 150
	for i := range groups {
		name := fmt.Sprintf("g%03d%s", i, strings.Repeat("x", 200))
		after = append(after, allowed(name, fmt.Sprintf(`{verbs: [get], apiGroups: [""], resources: [%s]}`, name), name)...)
	}
	report := compare(t, before, after)
	got := report.Markdown(groups)
	shown := strings.Count(got, "| **gain** |")
	if len(got) > 60000 || shown == 0 || shown == groups || !strings.Contains(got, fmt.Sprintf("and %d groups more, -o json lists them.", groups-shown)) {
		t.Errorf("got %d bytes with %d of %d groups", len(got), shown, groups)
	}
	if !strings.HasPrefix(got, "<!-- writ diff -->\n") || !strings.Contains(got, "\nCompared: ") {
		t.Error("the first line or the coverage is missing")
	}
}
