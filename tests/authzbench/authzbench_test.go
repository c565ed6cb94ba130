package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// bin is the folder of the programs. Without it, systems that need one are skipped.
var bin = flag.String("bin", "", "the folder of the programs")

// smallWorld is a world of 60 bindings.
func smallWorld(t *testing.T) *reference {
	t.Helper()
	var s shape
	if err := readYAML("workloads/world.yaml", &s); err != nil {
		t.Fatal(err)
	}
	s.ClusterWide = 10
	return newReference(newWorld(s, 60))
}

// TestMain serves the floor if the harness starts this program as one.
func TestMain(m *testing.M) {
	floorAddress, world := flag.String("floor", "", ""), flag.String("world", "", "")
	flag.Parse()
	if *floorAddress != "" {
		_ = serveFloor(*floorAddress, *world)
		return
	}
	os.Exit(m.Run())
}

func TestSystemsAnswerAsTheReference(t *testing.T) {
	for _, make := range systems(*bin) {
		a := make()
		t.Run(a.about().Name, func(t *testing.T) {
			r := smallWorld(t)
			s := &session{adapter: a, reference: r}
			defer s.close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			questions := r.questions(100)
			if err := s.start(ctx, r.world, t.TempDir()); errors.Is(err, exec.ErrNotFound) && *bin == "" {
				t.Skip("make authzbench-smoke builds it")
			} else if err != nil {
				t.Fatal(err)
			}
			if err := s.settle(ctx, questions); err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{"decide", "who", "filter"} {
				for i := range questions {
					if a, _ := s.ask(kind, &questions[i]); !errors.Is(a.err, errNotOffered) && !s.isRight(kind, &questions[i], a) {
						t.Errorf("%s %+v: got %+v", kind, questions[i], a)
					}
				}
			}
			changed := s.changes(&workload{Name: "change", Distinct: 1, Seconds: 60, Fresh: a.about().Fresh != ""})
			if changed.Failure != "" || changed.Asked != 1 {
				t.Errorf("change: %+v", changed)
			}
		})
	}
}

// liar allows everything.
type liar struct{ floor }

func (*liar) decide(*question) (bool, error) { return true, nil }

func TestWrongAnswersAreShown(t *testing.T) {
	r := smallWorld(t)
	s := &session{adapter: &liar{}, reference: r}
	asked := workload{Name: "decide", Kind: "decide", Title: "Decisions", Seconds: 10}
	b := &bench{options: &options{}, results: []result{s.measure(&asked, r.questions(100))}}
	var text, pictures strings.Builder
	if b.writeTable(&text, &pictures, &asked); b.results[0].Wrong < 20 || !strings.Contains(text.String(), "| 100 | **") {
		t.Errorf("got %+v\n%s", b.results[0], &text)
	}
	stranger := "stranger"
	if got := s.try(&hostile{User: &stranger}, r.lastGiven()); got != allowedWrong {
		t.Errorf("an allowed stranger is shown as %q", got)
	}
	if changed := s.changes(&workload{Name: "change", Distinct: 1, Seconds: 1}); changed.Failure == "" {
		t.Errorf("got %+v of a system that allows before a binding is saved", changed)
	}
}

// The questions are of both answers, so that a system that always gives the same one is wrong.
func TestQuestionsHaveBothAnswers(t *testing.T) {
	r := smallWorld(t)
	allowed, questions := 0, r.questions(200)
	for i := range questions {
		if r.decide(&questions[i]) {
			allowed++
		}
	}
	if len(questions) != 200 || allowed < 60 || allowed > 160 {
		t.Errorf("got %d questions, %d allowed", len(questions), allowed)
	}
}

func TestHostileInputsAreEdits(t *testing.T) {
	var list []hostile
	if err := readYAML("workloads/hostile.yaml", &list); err != nil {
		t.Fatal(err)
	}
	q := &question{User: "user-7", Namespace: "ns-1", Verb: "get", Resource: "pods"}
	s := &session{adapter: newFloorServer()}
	for i := range list {
		asked, edit := s.apply(&list[i], q)
		_, body := s.adapter.(*floorServer).decision(asked)
		text, err := encode(body)
		if err != nil {
			t.Fatal(err)
		}
		before := string(text)
		if edit != nil {
			text = edit(text)
		}
		if reflect.DeepEqual(asked, q) && string(text) == before {
			t.Errorf("%s: changes nothing", list[i].Name)
		}
	}
	if len(list) < 20 {
		t.Errorf("found %d inputs", len(list))
	}
}

// adapterFiles are the files of the systems that are compared with writ.
var adapterFiles = []string{"cedar.go", "cerbos.go", "kubernetes.go", "opa.go", "openfga.go", "spicedb.go", "writ.go"}

func TestAdaptersAreSmall(t *testing.T) {
	const most = 100 // lines that are neither empty nor a comment
	for _, file := range adapterFiles {
		text, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
		t.Logf("%s has %d lines", file, lines)
		if lines > most {
			t.Errorf("%s has %d lines: an adapter has at most %d", file, lines, most)
		}
	}
}

func TestReferenceReadsFacts(t *testing.T) {
	w := &world{Shape: shape{Verbs: []string{"get", "list"}, Resources: []string{"pods", "secrets"}},
		Roles:      []role{{"reader", []rule{{[]string{"get"}, []string{"pods"}}}}, {"lister", []rule{{[]string{"list"}, []string{"secrets"}}}}},
		Bindings:   []binding{{"a", "alice", "", "reader", "ns-1"}, {"b", "", "ops", "reader", ""}, {"c", "bob", "", "lister", "ns-2"}},
		Users:      []string{"alice", "bob", "carol"},
		Groups:     map[string][]string{"carol": {"ops"}},
		Namespaces: []string{"ns-1", "ns-2"},
	}
	r := newReference(w)
	q := question{User: "alice", Verb: "get", Resource: "pods", Namespace: "ns-1"}
	if !r.decide(&q) || r.decide(&question{User: "alice", Verb: "get", Resource: "pods", Namespace: "ns-2"}) {
		t.Error("alice may get pods in ns-1 alone")
	}
	if got := strings.Join(r.who(&q), " "); got != "alice carol" {
		t.Errorf("got %q, who may get pods in ns-1", got)
	}
	q.User, q.Groups = "carol", []string{"ops"}
	if got := strings.Join(r.namespaces(&q), " "); got != "ns-1 ns-2" {
		t.Errorf("got %q, where carol may get pods", got)
	}
}
