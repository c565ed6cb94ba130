package diff

import (
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// required are statements that a request must fit, and others that it must not.
type required struct{ must, mustNot []*statement.Statement }

// exemptions returns the combinations of namespaces that some pod security exempts: of
// own each one or not, of others none in particular, each one, and all.
func exemptions(own, others []*statement.Statement) []required {
	filters := func(list []*statement.Statement) (out []*statement.Statement) {
		for _, s := range list {
			if f := s.PodSecurity().ExemptNamespaces; f != nil {
				out = append(out, statement.InNamespaces(f))
			}
		}
		return out
	}
	out := []required{{}}
	all := filters(others)
	for i := range all {
		out = append(out, required{must: all[i : i+1]})
	}
	out = append(out, required{must: all})
	for _, f := range filters(own) {
		for _, r := range slices.Clone(out) {
			out = append(out, required{append(slices.Clone(r.must), f), r.mustNot}, required{r.must, append(slices.Clone(r.mustNot), f)})
		}
	}
	return out
}

// maxPods bounds the pods that are constructed for one policy.
const maxPods = 200000

// podsToTry returns pods as sets of the factors of own, in bands whose pods neither own, nor
// others that may deny them too, nor the overrides tell apart, smaller ones first. Every sum
// of weights up to the highest score that is compared with is reached. It returns false if
// pods are missing.
func podsToTry(own, others []*statement.Statement, overrides []*tables.Escalation) (bands [][]map[string]int, complete bool) {
	names := factorsOf(own)
	own = slices.Concat(own, others)
	weights := weightsOf(own)
	scores := scoresOf(own, overrides)
	sums := func(factors map[string]int) []int {
		out := make([]int, len(weights))
		for i := range weights {
			for name, n := range factors {
				out[i] = min(out[i]+n*weights[i][name], scores[len(scores)-1]+1)
			}
		}
		return out
	}
	index := make(map[string]int)
	add := func(factors map[string]int, sums []int, blocked string) {
		for i := range sums {
			at, _ := slices.BinarySearch(scores, sums[i])
			blocked += fmt.Sprint(",", at)
		}
		if _, known := index[blocked]; !known {
			index[blocked] = len(bands)
			bands = append(bands, nil)
		}
		bands[index[blocked]] = append(bands[index[blocked]], factors)
	}
	seen := make(map[string]bool)
	var queue []map[string]int
	visit := func(factors map[string]int) {
		reached, blocked := sums(factors), blockedBy(own, overrides, factors)
		if key := fmt.Sprint(reached, blocked); !seen[key] {
			seen[key] = true
			queue = append(queue, factors)
			add(factors, reached, blocked)
		}
	}
	visit(map[string]int{})
	for i := 0; i < len(queue); i++ {
		if len(queue) > maxPods {
			return bands, false
		}
		for _, name := range names {
			if queue[i][name] > 0 && !statement.IsRepeatable(name) {
				continue
			}
			next := maps.Clone(queue[i])
			next[name]++
			visit(next)
		}
	}
	return bands, true
}

// scoresOf returns the scores that a pod is compared with, sorted; zero is one.
func scoresOf(own []*statement.Statement, overrides []*tables.Escalation) []int {
	out := []int{0}
	for _, s := range own {
		for _, t := range s.PodSecurity().Thresholds {
			out = append(out, t.MaxScore)
		}
	}
	for _, e := range overrides {
		if e.MaxAllowedScore != nil {
			out = append(out, *e.MaxAllowedScore)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// blockedBy says which policies block a pod, without an override and under each.
func blockedBy(own []*statement.Statement, overrides []*tables.Escalation, factors map[string]int) string {
	var out []byte
	for _, s := range own {
		for _, e := range append([]*tables.Escalation{{}}, overrides...) {
			out = append(out, '0'+statement.Bit(slices.ContainsFunc(s.PodSecurity().BlockFactors, func(name string) bool {
				return factors[name] > 0 && !slices.Contains(e.ExemptFactors, name)
			})))
		}
	}
	return string(out)
}

func factorsOf(own []*statement.Statement) (names []string) {
	for _, s := range own {
		for _, f := range s.PodSecurity().Factors {
			names = append(names, f.Name)
		}
	}
	return tables.Entries(names)
}

func weightsOf(list []*statement.Statement) (weights []map[string]int) {
	for _, s := range list {
		weight := make(map[string]int)
		for _, f := range s.PodSecurity().Factors {
			weight[f.Name] = f.Weight
		}
		weights = append(weights, weight)
	}
	return weights
}
