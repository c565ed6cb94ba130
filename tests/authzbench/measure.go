package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/writ-policy/writ/tests/bench/report"
)

// workload is what is asked, as the file workloads/questions.yaml states it.
type workload struct {
	Name, Kind, Title string
	Distinct          int
	Repeat            bool
	Fresh             bool // the asker requires what was saved last, where systems offer that
	Seconds           float64
}

// result is what one system did with one workload in one world.
type result struct {
	System, Workload string
	N                int
	// Failure is why figures are missing; empty if they are not.
	Failure string
	Asked   int
	// Wrong are answers that differ from the reference, of which Errors are not answers.
	Wrong, Errors int
	P50, P99, CPU time.Duration
	// Stale are the wrong answers between a change and the first right one, of all changes.
	Stale int
	// Memory is the most that the system's process held, empty in process.
	Memory string
	// Back is the time until a binding that is taken back gives nothing.
	Back time.Duration
}

// session is a system that runs in a world.
type session struct {
	adapter
	reference *reference
	stale     int // answers that were not right while until waited
}

// answer is what a system or the reference answers: a decision, or a list.
type answer struct {
	allowed bool
	list    []string
	err     error
}

// ask returns the answer and how long it took.
func (s *session) ask(kind string, q *question) (a answer, took time.Duration) {
	begin := time.Now()
	switch kind {
	case "decide":
		a.allowed, a.err = s.decide(q)
	case "who":
		a.list, a.err = s.who(q)
	case "filter":
		a.list, a.err = s.namespaces(q)
	default:
		a.err = fmt.Errorf("no kind %q of question", kind)
	}
	return a, time.Since(begin)
}

// isRight compares an answer with the reference. An error is not right.
func (s *session) isRight(kind string, q *question, a answer) bool {
	if a.err != nil {
		return false
	}
	list := slices.Compact(slices.Sorted(slices.Values(a.list)))
	switch kind {
	case "decide":
		return a.allowed == s.reference.decide(q)
	case "who":
		return slices.Equal(list, s.reference.who(q))
	}
	return slices.Equal(list, s.reference.namespaces(q))
}

// mostAsked bounds the questions of one measurement: their answers are kept, and compared
// when the clocks have stopped.
const mostAsked = 200_000

// measure asks for as long as the workload states.
func (s *session) measure(w *workload, questions []question) result {
	r := result{System: s.about().Name, Workload: w.Name, N: s.reference.N}
	warm := questions[max(0, len(questions)-10):] // connections and code, by the last questions
	if w.Repeat {
		warm = questions // and caches
	}
	for i, begin := 0, time.Now(); i < len(warm) && time.Since(begin) < 10*time.Second; i++ {
		if a, _ := s.ask(w.Kind, &warm[i]); errors.Is(a.err, errNotOffered) {
			r.Failure = a.err.Error()
			return r
		}
	}
	var took []time.Duration
	var answers []answer
	limit, before := time.Duration(w.Seconds*float64(time.Second)), s.cpu()
	for begin := time.Now(); time.Since(begin) < limit && len(answers) < mostAsked && (len(answers) < len(questions) || w.Repeat); {
		a, one := s.ask(w.Kind, &questions[len(answers)%len(questions)])
		took, answers = append(took, one), append(answers, a)
	}
	r.summarize(took, s.cpu()-before)
	for i, a := range answers {
		if !s.isRight(w.Kind, &questions[i%len(questions)], a) {
			r.Wrong++
		}
		if a.err != nil {
			r.Errors++
			r.Failure = a.err.Error()
		}
	}
	return r
}

func (r *result) summarize(took []time.Duration, cpu time.Duration) {
	if r.Asked = len(took); r.Asked == 0 {
		return
	}
	slices.Sort(took)
	r.P50, r.P99, r.CPU = took[len(took)/2], took[len(took)*99/100], cpu/time.Duration(len(took))
}

// cpu is the time that the process has used.
func (s *session) cpu() time.Duration {
	pid := s.process()
	if pid == 0 {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	used, _ := report.CPU(pid) // zero for a server that has ended
	return used
}

func (s *session) memory() string {
	if s.process() == 0 {
		return ""
	}
	return report.Peak(s.process())
}

// settle waits until the questions are answered right, which systems that follow what is saved
// to them may do later: until the last binding counts, and for the others at most 15 seconds more,
// as a system that is wrong is measured like the rest.
func (s *session) settle(ctx context.Context, questions []question) error {
	last := s.reference.lastGiven()
	if last == nil {
		return errors.New("the world has no binding to wait for")
	}
	if err := s.until(ctx, last, true); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	for i := range questions {
		_ = s.until(ctx, &questions[i], s.reference.decide(&questions[i]))
	}
	return nil
}

// until asks until the answer is right.
func (s *session) until(ctx context.Context, q *question, want bool) error {
	for {
		allowed, err := s.decide(q)
		if allowed == want && err == nil {
			return nil
		}
		if s.stale++; ctx.Err() != nil {
			return fmt.Errorf("no right answer: %w", cmp.Or(err, ctx.Err()))
		}
		time.Sleep(time.Millisecond)
	}
}
