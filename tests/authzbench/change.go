package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// changeLimit is how long a change may take to count.
const changeLimit = 30 * time.Second

// changes saves a binding and asks until it counts, then takes it back and asks until it gives
// nothing, as often as the workload states and its seconds allow. The question is asked before,
// so that a cache has the answer. P50 and P99 are those of the saved bindings.
func (s *session) changes(w *workload) result {
	r := result{System: s.about().Name, Workload: w.Name, N: s.reference.N}
	if w.Fresh && s.about().Fresh == "" {
		r.Failure = errNotOffered.Error()
		return r
	}
	var given, back []time.Duration
	s.stale = 0
	for begin := time.Now(); len(given) < w.Distinct && time.Since(begin).Seconds() < w.Seconds; {
		i := len(given)
		role := &s.reference.Roles[i%len(s.reference.Roles)]
		name := fmt.Sprintf("%s-%d", w.Name, i)
		b := binding{Name: name, User: name, Role: role.Name, Namespace: s.reference.Namespaces[0]}
		q := question{User: name, Groups: []string{}, Verb: role.Rules[0].Verbs[0], Resource: role.Rules[0].Resources[0], Namespace: b.Namespace, Fresh: w.Fresh}
		if allowed, err := s.decide(&q); err != nil || allowed {
			r.Failure = fmt.Sprintf("before the change: allowed %v, %v", allowed, err)
			return r
		}
		for _, bound := range []bool{true, false} {
			saved := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), changeLimit)
			err := s.adapter.change(&b, bound)
			if err == nil {
				err = s.until(ctx, &q, bound)
			}
			if cancel(); err != nil {
				r.Failure = fmt.Sprintf("after %v: %v", time.Since(saved).Round(time.Second), err)
				return r
			}
			if bound {
				given = append(given, time.Since(saved))
			} else {
				back = append(back, time.Since(saved))
			}
		}
	}
	r.summarize(given, 0)
	slices.Sort(back)
	r.Stale, r.Back = s.stale, back[len(back)/2]
	return r
}
