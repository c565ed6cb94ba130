package deny

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

const (
	testPoints    = "test_points"
	testExempt    = "test_exempt"
	testThreshold = "test_threshold"
)

// podForm is the form of requests that pod security judges.
const podForm = "pod security"

// pod adds the requests for exec that the pod security of the policy judges or exempts.
func (t *denySamples) pod() {
	pod := t.policy.Pod
	base := t.exec(plainPod(), "writ-namespace")
	f := form{podForm, base, []any{t.policy.Precedence, t.policy.Name}, nil, func(r request) fit { return t.fitOf(rule.Pod(pod), r) }}
	v := variations{base: base}
	v.words("subresource", pod.Subresources, "writ-other")
	v.add("no subresource", "subresource", "")
	v.add("another resource", "resource", emit.StrangeResource)
	v.add("another apiGroup", "apiGroup", emit.StrangeGroup)
	t.scopeVariations(&v)
	f.add(t, testPod, v.list)
	if len(pod.Factors) > 0 {
		t.points()
	}
	if pod.ExemptNamespaces != nil || len(pod.ExemptLabels) > 0 {
		t.exempt(base)
	}
	t.thresholds()
}

// points adds the points of a pod with each risk factor, and of one with none.
func (t *denySamples) points() {
	add := func(note string, pod map[string]any, has func(f *tables.RiskFactor) bool) {
		points := make(map[string]int)
		for i := range t.policy.Pod.Factors {
			if f := &t.policy.Pod.Factors[i]; has(f) {
				points[f.Name] = f.Weight
			}
		}
		t.add(testPoints, note, map[string]any{"of": podForm, "with": map[string]any{"pod": pod}, "want": points})
	}
	add("no factor", plainPod(), func(*tables.RiskFactor) bool { return false })
	for _, factor := range t.policy.Pod.Factors {
		add(factor.Name, riskyPod(factor.Name), func(f *tables.RiskFactor) bool {
			// A container that adds all capabilities adds each of them.
			return f.Name == factor.Name || f.Capability != "" && factor.Capability == "ALL"
		})
	}
}

// exempt adds pods and namespaces that are exempt, and others near them.
func (t *denySamples) exempt(base request) {
	pod := t.policy.Pod
	v := variations{base: base}
	if pod.ExemptNamespaces != nil {
		v.namespaces(pod.ExemptNamespaces)
	}
	labelled := func(note string, labels map[string]string) {
		exempt := plainPod()
		exempt["metadata"] = map[string]any{"labels": labels}
		v.add(note, "pod", exempt)
	}
	if len(pod.ExemptLabels) > 0 {
		labelled("exempt labels", pod.ExemptLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(pod.ExemptLabels)) {
		labels := maps.Clone(pod.ExemptLabels)
		delete(labels, key)
		labelled("no label "+key, labels)
		labels = maps.Clone(pod.ExemptLabels)
		labels[key] += "z"
		labelled("another label "+key, labels)
	}
	add := func(note string, with map[string]any, r request) {
		is := pod.ExemptNamespaces != nil && rule.InNamespaces(pod.ExemptNamespaces).Match(r.asWords()) == rule.Yes
		if metadata, ok := r["pod"].(map[string]any)["metadata"].(map[string]any); ok && len(pod.ExemptLabels) > 0 {
			is = is || maps.Equal(pod.ExemptLabels, metadata["labels"].(map[string]string))
		}
		t.add(testExempt, note, map[string]any{"of": podForm, "with": with, "want": is})
	}
	add("not exempt", map[string]any{}, base)
	for _, variation := range v.list {
		add(variation.note, map[string]any{variation.key: variation.value}, base.with(variation.key, variation.value))
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
		t.add(testThreshold, note, map[string]any{"of": podForm, "points": map[string]int{factor: score}, "action": action})
	}
	above := 0
	for i, threshold := range pod.Thresholds {
		reach(fmt.Sprintf("threshold %d", i), threshold.MaxScore, threshold.Action)
		above = threshold.MaxScore + 1
	}
	reach("above all thresholds", above, "deny")
}

// exec is a request that pod security of the policy judges.
func (t *denySamples) exec(pod map[string]any, namespace string) request {
	r := maps.Clone(t.base)
	r["verb"], r["resource"], r["subresource"] = "create", "pods", t.policy.Pod.Subresources[0]
	r["namespace"], r["name"], r["pod"] = namespace, "writ-pod", pod
	// Labels that are not known do not exempt.
	delete(r, "namespaceLabels")
	return r
}

// podHelpers writes what the tests of pod security ask.
func (t *denySamples) podHelpers(out *bytes.Buffer, clock string) {
	own := "data.compiled.deny._" + emit.Identifier(t.policy.Name)
	fmt.Fprintf(out, `
test_document if %[1]s == %[2]s

_judges(row) := {[found[0], found[1], false] |
	request := _request(row)
	some found in data.compiled.deny.pods with input as request%[3]s
	found[1] == _forms[row.of].before[1]
}

_reaches(row) if {
	request := _request(row)
	judged := data.writ.access.deny.judge(%[1]s, false, row.points) with input as request
	judged.action == row.action
}
`, own, regotext.Constant(podConstant(t.policy)), clock)
	if len(t.sections[testPoints]) > 0 {
		fmt.Fprintf(out, "\n_points(row) := points if {\n\trequest := _request(row)\n\tpoints := %s__points with input as request\n}\n", own)
	}
	if len(t.sections[testExempt]) > 0 {
		fmt.Fprintf(out, "\n_is_exempt(row) := exempt if {\n\trequest := _request(row)\n\texempt := %s__exempt with input as request\n}\n", own)
	}
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
