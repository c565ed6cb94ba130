package deny

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// denyTests writes, for each deny policy, one file: for each rule a request it
// denies and a neighbour it must not; for each risk factor a pod that has it and
// one that does not; for its exemptions a pod that is exempt; for each threshold
// the score that reaches it. What is asked is the
// policy itself, since another may be judged before it.
func denyTests(deny *tables.Deny) map[string][]byte {
	files := make(map[string][]byte)
	if deny == nil {
		return files
	}
	for i := range deny.Policies[:min(len(deny.Policies), emit.TestedRoles)] {
		policy := &deny.Policies[i]
		t := denySamples{policy: policy, denied: map[string]any{}, passed: map[string]any{}, seen: map[string]any{}, unseen: map[string]any{}, reached: map[string]any{}}
		t.scope()
		for j := range policy.Rules {
			t.rule(&policy.Rules[j])
		}
		for j := range policy.Impersonation {
			t.impersonation(&policy.Impersonation[j])
		}
		if policy.Pod != nil {
			t.pod()
		}
		t.date()
		if name := emit.FileName(policy.Name); len(t.denied)+len(t.seen) > 0 {
			files["compiled/tests/deny/"+name+"_test.rego"] = t.module(name)
		}
	}
	return files
}

// denySamples are the rows of one policy's test, by their notes.
type denySamples struct {
	policy         *tables.DenyPolicy
	base           map[string]any // what brings a request into the policy's scope
	denied, passed map[string]any // {"stage", "rule", "request"}
	seen, unseen   map[string]any // {"factor", "request"}
	reached        map[string]any // {"points", "action", "request"}
}

// date gives the rows of a policy with dates their times: at each bound, and one nanosecond
// before.
func (t *denySamples) date() {
	if t.policy.Dates == nil {
		return
	}
	within, out := t.policy.Dates.Samples()
	at := func(note string, row any, now dates.Instant) (string, map[string]any) {
		timed := maps.Clone(row.(map[string]any))
		timed["now"] = now
		return note + " at " + now.String(), timed
	}
	spread := func(rows, others map[string]any) {
		for note, row := range maps.Clone(rows) {
			delete(rows, note)
			for _, now := range within {
				name, timed := at(note, row, now)
				rows[name] = timed
			}
			for _, now := range out {
				name, timed := at(note, row, now)
				others[name] = timed
			}
		}
	}
	some := append(slices.Clone(within), out...)[0]
	for _, rows := range []map[string]any{t.passed, t.unseen, t.reached} {
		for _, row := range rows {
			row.(map[string]any)["now"] = some
		}
	}
	spread(t.denied, t.passed)
	spread(t.seen, t.unseen)
}

func (t *denySamples) scope() {
	// The policy is tested without the library, which would add these defaults.
	t.base = map[string]any{
		"user": "writ:user", "groups": []string{}, "apiGroup": "", "resource": "", "subresource": "", "namespace": "", "name": "",
		"path": "", "cluster": "", "tenant": "", "session": "", "escalation": "", "podError": "", "namespaceLabels": map[string]string{},
	}
	for key, globs := range map[string][]tables.PathGlob{
		"cluster": t.policy.Clusters, "tenant": t.policy.Tenants, "session": t.policy.Sessions, "escalation": t.policy.EscalationRefs,
	} {
		if len(globs) > 0 {
			t.base[key] = globs[0].Sample()
		}
	}
}

func (t *denySamples) rule(r *tables.DenyRule) {
	hit := maps.Clone(t.base)
	action, resource := &r.Actions[0], &r.Resources[0]
	hit["verb"], hit["apiGroup"] = firstOr(action.Verbs, "get"), firstOr(action.Groups, "")
	hit["resource"], hit["subresource"] = firstOr(resource.Resources, "pods"), firstOr(resource.Subresources, "")
	if resource.NeedsSubresource {
		hit["subresource"] = "status"
	}
	if hit["resource"] == "" {
		return
	}
	if len(r.Names) > 0 {
		hit["name"] = r.Names[0].Sample()
	}
	if f := r.Namespaces; f != nil && len(f.Patterns) > 0 {
		hit["namespace"] = f.Patterns[0].Sample()
	} else if f != nil {
		// Labels that are not known are denied as well.
		hit["namespace"] = "writ-namespace"
		delete(hit, "namespaceLabels")
	}
	miss := maps.Clone(hit)
	if action.Verbs == nil {
		for _, key := range []string{"apiGroup", "resource", "subresource", "namespace", "name"} {
			miss[key] = ""
		}
		miss["path"] = emit.StrangePath
	} else {
		miss["verb"] = emit.StrangeVerb
	}
	note := fmt.Sprintf("rule %d", r.Rule)
	t.denied[note] = map[string]any{"stage": 0, "rule": r.Rule, "request": hit}
	t.passed["beside "+note] = map[string]any{"stage": 0, "rule": r.Rule, "request": miss}
}

// firstOr is the first of the words, or the other where any word fits.
func firstOr(words []string, other string) string {
	if len(words) == 0 {
		return other
	}
	return words[0]
}

// pod adds the requests for exec that the pod security of the policy judges or exempts.
func (t *denySamples) pod() {
	pod := t.policy.Pod
	t.thresholds()
	everywhere := func(glob tables.PathGlob) bool { return glob.Match("writ-namespace") }
	if f := pod.ExemptNamespaces; f != nil && slices.ContainsFunc(f.Patterns, everywhere) {
		return // no pod of the test's is judged
	}
	for _, f := range pod.Factors {
		factor := f.Name
		t.seen[factor] = map[string]any{"factor": factor, "request": t.exec(riskyPod(factor), "writ-namespace")}
		t.unseen["no "+factor] = map[string]any{"factor": factor, "request": t.exec(plainPod(), "writ-namespace")}
	}
	if f := pod.ExemptNamespaces; f != nil && len(f.Patterns) > 0 {
		t.unseen["an exempt namespace"] = map[string]any{
			"factor": "hostNetwork", "request": t.exec(riskyPod("hostNetwork"), f.Patterns[0].Sample()),
		}
	}
	if len(pod.ExemptLabels) > 0 {
		exempt := riskyPod("hostNetwork")
		exempt["metadata"] = map[string]any{"labels": pod.ExemptLabels}
		t.unseen["exempt labels"] = map[string]any{"factor": "hostNetwork", "request": t.exec(exempt, "writ-namespace")}
	}
}

// thresholds are judged by their scores: one at each, and one above them all. The
// points are of a factor that does not block.
func (t *denySamples) thresholds() {
	pod := t.policy.Pod
	factor := ""
	for _, f := range pod.Factors {
		if !slices.Contains(pod.BlockFactors, f.Name) {
			factor = f.Name
		}
	}
	if factor == "" {
		return
	}
	reach := func(note string, score int, action string) {
		t.reached[note] = map[string]any{
			"points": map[string]int{factor: score}, "action": action, "request": t.exec(plainPod(), "writ-namespace"),
		}
	}
	above := 0
	for i, threshold := range pod.Thresholds {
		reach(fmt.Sprintf("threshold %d", i), threshold.MaxScore, threshold.Action)
		above = threshold.MaxScore + 1
	}
	reach("above all thresholds", above, "deny")
}

// exec is a request that pod security of the policy judges.
func (t *denySamples) exec(pod map[string]any, namespace string) map[string]any {
	request := maps.Clone(t.base)
	request["verb"], request["resource"], request["subresource"] = "create", "pods", t.policy.Pod.Subresources[0]
	request["namespace"], request["name"], request["pod"] = namespace, "writ-pod", pod
	// Labels that are not known do not exempt.
	delete(request, "namespaceLabels")
	return request
}

func plainPod() map[string]any {
	return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c"}}}}
}

// riskyPod has the one factor.
func riskyPod(factor string) map[string]any {
	container := map[string]any{"name": "c"}
	spec := map[string]any{"containers": []any{container}}
	hostPath := []any{map[string]any{"name": "v", "hostPath": map[string]any{"path": "/"}}}
	name, isCapability := strings.CutPrefix(factor, capabilityPrefix)
	switch {
	case isCapability:
		container["securityContext"] = map[string]any{"capabilities": map[string]any{"add": []string{name}}}
	case factor == "privilegedContainer":
		container["securityContext"] = map[string]any{"privileged": true}
	case factor == "runAsRoot":
		container["securityContext"] = map[string]any{"runAsUser": 0}
	case factor == "hostPathWritable":
		spec["volumes"] = hostPath
		container["volumeMounts"] = []any{map[string]any{"name": "v"}}
	case factor == "hostPathReadOnly":
		spec["volumes"] = hostPath
	default:
		spec[factor] = true
	}
	return map[string]any{"spec": spec}
}

func (t *denySamples) module(name string) []byte {
	var out bytes.Buffer
	clock := ""
	if t.policy.Dates != nil {
		clock = " with time.now_ns as row.now"
	}
	fmt.Fprintf(&out, `# METADATA
# description: |
#   What one deny policy denies and what it leaves alone. Generated from it; its
#   source: %[1]s
package compiled.tests.deny%[2]s

_denies(row) if {
	some found in data.compiled.deny.rules with input as row.request%[3]s
	found[1] == %[4]s
	found[2] == row.stage
	found[3] == row.rule
}

_sees(row) if {
	some found in data.compiled.deny.pods with input as row.request%[3]s
	found[1] == %[4]s
	row.factor in found[3].factors
}
`, regotext.Comment(t.policy.Source), regotext.Key(name+"_test"), clock, regotext.Quote(t.policy.Name))
	if t.policy.Pod != nil {
		fmt.Fprintf(&out, `
_reaches(row) if {
	judged := data.writ.access.deny.judge(data.compiled.deny._%s, false, row.points) with input as row.request
	judged.action == row.action
}
`, emit.Identifier(t.policy.Name))
	}
	for _, rows := range []struct {
		test, holds string
		rows        map[string]any
	}{
		{"test_rule", "_denies(row)", t.denied}, {"test_neighbour", "not _denies(row)", t.passed},
		{"test_factor", "_sees(row)", t.seen}, {"test_no_factor", "not _sees(row)", t.unseen},
		{"test_threshold", "_reaches(row)", t.reached},
	} {
		if len(rows.rows) == 0 {
			continue // OPA's types refuse to look into an empty constant
		}
		fmt.Fprintf(&out, "\n%s[note] if {\n\tsome note, row in %s_rows\n\t%s\n}\n\n%s_rows := {\n", rows.test, "_"+rows.test, rows.holds, "_"+rows.test)
		for _, note := range slices.Sorted(maps.Keys(rows.rows)) {
			fmt.Fprintf(&out, "\t%s: %s,\n", regotext.Quote(note), regotext.Constant(rows.rows[note]))
		}
		out.WriteString("}\n")
	}
	return out.Bytes()
}
