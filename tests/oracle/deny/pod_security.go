package deny

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
)

// shown returns the judgement that a decision reports if no policy denies: the first that
// warned, else the first that an override settled, else the first at all.
func shown(all []oracle.Judgement) *oracle.PodSecurity {
	for _, fits := range []func(j oracle.Judgement) bool{
		func(j oracle.Judgement) bool { return j.Computed() && j.Action == "warn" },
		func(j oracle.Judgement) bool { return j.How == "override" },
		func(j oracle.Judgement) bool { return j.Computed() },
	} {
		if i := slices.IndexFunc(all, fits); i >= 0 {
			return &all[i].PodSecurity
		}
	}
	return nil
}

// Reaches reports whether pod security is about some form of the request.
func (s *PodRules) Reaches(r oracle.Request) bool { return slices.ContainsFunc(Forms(r), s.reaches) }

func (s *PodRules) reaches(r oracle.Request) bool {
	if r.APIGroup != "" || r.Resource != "pods" {
		return false
	}
	if len(s.Subresources) == 0 {
		return oracle.Has([]string{"exec", "attach", "portforward"}, r.Subresource)
	}
	return oracle.Has(s.Subresources, r.Subresource)
}

// podDenied adds what a policy makes of the pod to the decision, and says
// whether it denies.
func (w *Denials) podDenied(p *Policy, r oracle.Request, d *oracle.Decision) bool {
	j, text := p.PodSecurity.judge(r, w.override(r))
	j.Policy = p.Name
	d.Judgements = append(d.Judgements, j)
	switch j.Action {
	case "warn":
		d.PodWarnings = append(d.PodWarnings, p.Name+": "+text)
	case "deny":
		denyBy(d, p, 0, p.PodSecurity.Source, StepPodSecurity, p.Name+" (pod security)")
		d.Reason += ": " + text
		if j.Computed() {
			d.PodSecurity = &j.PodSecurity
		}
		return true
	case "allow":
		if j.How == "unavailable" {
			d.PodWarnings = append(d.PodWarnings, p.Name+": "+text)
		}
	}
	return false
}

// judge is one policy's judgement and the words that go with it.
func (s *PodRules) judge(r oracle.Request, o *Overrides) (oracle.Judgement, string) {
	pod, there := Available(r)
	if !there {
		return s.unavailable(r)
	}
	if s.exempt(r) {
		return oracle.Judgement{PodSecurity: oracle.PodSecurity{Action: "allow"}, How: "exempt"}, ""
	}
	score, factors := s.score(pod)
	j := oracle.Judgement{PodSecurity: oracle.PodSecurity{Score: score, Factors: factors}}
	for _, factor := range s.BlockFactors {
		factor = factorName(factor)
		if slices.Contains(factors, factor) && !o.exempts(factor) {
			j.Action, j.How = "deny", "blocked"
			return j, "blocked factor detected: " + factor
		}
	}
	if o != nil && o.MaxAllowedScore != nil && score <= *o.MaxAllowedScore {
		j.Action, j.How = "allow", "override"
		return j, ""
	}
	for _, t := range s.Thresholds {
		if score <= t.MaxScore {
			j.Action, j.How = t.Action, "threshold"
			return j, t.words(r, j)
		}
	}
	j.Action, j.How = "deny", "above"
	return j, fmt.Sprintf("risk score %d exceeds all thresholds", score)
}

func (s *PodRules) unavailable(r oracle.Request) (oracle.Judgement, string) {
	why := ""
	if r.PodError != "" {
		why = ": " + r.PodError
	}
	if s.FailMode == "open" {
		return oracle.Judgement{PodSecurity: oracle.PodSecurity{Action: "allow"}, How: "unavailable"}, "pod spec unavailable, not evaluated (fail-open)" + why
	}
	return oracle.Judgement{PodSecurity: oracle.PodSecurity{Action: "deny"}, How: "unavailable"}, "pod spec unavailable (fail-closed)" + why
}

// exempt reports whether the namespace or the pod is left alone. Labels that are
// not strings are ignored: they exempt no pod.
func (s *PodRules) exempt(r oracle.Request) bool {
	if s.ExemptNamespaces.fits(r) == oracle.Yes {
		return true
	}
	metadata, _ := r.Pod["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	for key, value := range s.ExemptLabels {
		if labels[key] != value {
			return false
		}
	}
	return len(s.ExemptLabels) > 0
}

// score adds the weights up, and names the factors that are present in the
// order in which they are reported.
func (s *PodRules) score(pod podFacts) (int, []string) {
	score, factors := 0, []string{}
	count := func(factor string, weight, times int) {
		if times > 0 {
			factors = append(factors, factor)
			score += weight * times
		}
	}
	count("hostNetwork", s.Weights["hostNetwork"], once(pod.hostNetwork))
	count("hostPID", s.Weights["hostPID"], once(pod.hostPID))
	count("hostIPC", s.Weights["hostIPC"], once(pod.hostIPC))
	count("privilegedContainer", s.Weights["privilegedContainer"], once(pod.privileged))
	count("runAsRoot", s.Weights["runAsRoot"], once(pod.root))
	weights := s.tracked()
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		containers := 0
		for _, adds := range pod.adds {
			containers += once(oracle.Has(adds, name, "ALL"))
		}
		count("capability:"+name, weights[name], containers)
	}
	count("hostPathWritable", s.Weights["hostPathWritable"], pod.writable)
	count("hostPathReadOnly", s.Weights["hostPathReadOnly"], pod.readOnly)
	return score, factors
}

func once(present bool) int {
	if present {
		return 1
	}
	return 0
}

// tracked are the capabilities that count, with a weight or only to block.
func (s *PodRules) tracked() map[string]int {
	weights := map[string]int{}
	for _, factor := range s.BlockFactors {
		if name, ok := strings.CutPrefix(factorName(factor), "capability:"); ok {
			weights[name] = 0
		}
	}
	for name, weight := range s.Capabilities {
		weights[capability(name)] = weight
	}
	return weights
}

// capability is the one spelling of a capability's name.
func capability(name string) string { return strings.TrimPrefix(strings.ToUpper(name), "CAP_") }

// factorName is the one spelling of a factor of a document.
func factorName(factor string) string {
	if name, ok := strings.CutPrefix(factor, "capability:"); ok {
		return "capability:" + capability(name)
	}
	return factor
}

// words are the reason of a threshold with its placeholders filled in, or the
// usual ones.
func (t Threshold) words(r oracle.Request, j oracle.Judgement) string {
	if t.Reason == "" {
		if t.Action == "warn" {
			return fmt.Sprintf("risk score %d triggered the warning threshold", j.Score)
		}
		return fmt.Sprintf("risk score %d exceeds threshold", j.Score)
	}
	metadata, _ := r.Pod["metadata"].(map[string]any)
	pod, _ := metadata["name"].(string)
	if r.Name != "" {
		pod = r.Name
	}
	values := map[string]string{
		"score": fmt.Sprint(j.Score), "factors": strings.Join(j.Factors, ", "), "pod": pod, "namespace": r.Namespace,
	}
	text, rest := "", t.Reason
	for {
		before, after, found := strings.Cut(rest, "{{")
		text += before
		if !found {
			return text
		}
		name, after, _ := strings.Cut(after, "}}")
		text, rest = text+values[strings.ToLower(strings.Trim(name, " \t."))], after
	}
}

// namedOverride is that of the escalation which a request names, nil where it is not in force.
func (w *Denials) namedOverride(r oracle.Request) *Overrides {
	e := w.Escalation(r)
	if e == nil || e.Overrides == nil {
		return nil
	}
	o := e.Overrides
	cluster := fitsAny(e.Clusters, r.Cluster) || fitsAny(e.ClusterConfigRefs, r.Cluster)
	scope := o.NamespaceScope.empty() || o.NamespaceScope.fits(r) == oracle.Yes
	if !o.Enabled || o.RequireApproval || !cluster || !slices.ContainsFunc(e.Groups, r.In) || !scope {
		return nil
	}
	return o
}

// exempts reports whether a factor no longer blocks.
func (o *Overrides) exempts(factor string) bool {
	return o != nil && slices.ContainsFunc(o.ExemptFactors, func(f string) bool { return factorName(f) == factor })
}
