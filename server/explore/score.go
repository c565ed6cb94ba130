package explore

import (
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/tables"
)

// repeated stands for factors that a pod has more than once.
const repeated = "further occurrences"

// scores returns the pod security of each policy that scored the pod, the decisive one
// first.
func (v *viewer) scores(d *decision.Decision, r *decision.Request) []view.Score {
	scores := []view.Score{}
	deny := tables.Of[*tables.Deny](v.revision.tables)
	for i := range d.Pods {
		pod := &d.Pods[i]
		if !pod.Evaluated {
			continue
		}
		s := view.Score{Policy: pod.Policy, Action: pod.Action, Score: pod.Score, Factors: []view.Factor{}, Overrides: []string{}, Thresholds: []view.Threshold{}}
		weights := make(map[string]int)
		if policy := policyOf(deny, pod.Policy); policy != nil && policy.Pod != nil {
			for _, f := range policy.Pod.Factors {
				weights[f.Name] = f.Weight
			}
			for _, t := range policy.Pod.Thresholds {
				s.Thresholds = append(s.Thresholds, view.Threshold{MaxScore: t.MaxScore, Action: t.Action})
			}
		}
		rest := pod.Score
		for _, name := range pod.Factors {
			s.Factors = append(s.Factors, view.Factor{Factor: name, Points: weights[name]})
			rest -= weights[name]
		}
		if rest != 0 {
			s.Factors = append(s.Factors, view.Factor{Factor: repeated, Points: rest})
		}
		if pod.Override {
			s.Overrides = append(s.Overrides, r.Escalation)
		}
		if d.PodSecurity != nil && d.PodSecurity.Policy == pod.Policy {
			scores = slices.Insert(scores, 0, s)
			continue
		}
		scores = append(scores, s)
	}
	return scores
}

func policyOf(deny *tables.Deny, name string) *tables.DenyPolicy {
	if deny == nil {
		return nil
	}
	at := slices.IndexFunc(deny.Policies, func(p tables.DenyPolicy) bool { return p.Name == name })
	if at < 0 {
		return nil
	}
	return &deny.Policies[at]
}
