package lists_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/lists"
)

func listOf(n int) *lists.List {
	l := new(lists.List)
	for i := range n {
		l.Items = append(l.Items, lists.Item{Namespace: &lists.Namespace{Name: fmt.Sprintf("n%05d", i)}})
	}
	return l
}

func TestPagesAreOfOneList(t *testing.T) {
	now := time.Unix(0, 0)
	p := &lists.Pages{Now: func() time.Time { return now }}
	part := p.First("a", "q", listOf(2500), 1000)
	var got []string
	for {
		for _, i := range part.Items {
			got = append(got, i.Name)
		}
		if part.Next == "" {
			break
		}
		now = now.Add(59 * time.Second)
		again, err := p.Next("a", "q", part.Next, 1000)
		if err != nil {
			t.Fatal(err)
		}
		part = again
	}
	if len(got) != 2500 || !slices.IsSorted(got) || len(slices.Compact(got)) != 2500 {
		t.Errorf("the pages have %d namespaces", len(got))
	}
}

func TestCursorsExpire(t *testing.T) {
	for _, row := range []struct {
		name, owner, question string
		after                 time.Duration
		cursor                func(string) string
		isKept                bool
	}{
		{"in time", "a", "q", 59 * time.Second, nil, true},
		{"too late", "a", "q", time.Minute, nil, false},
		{"of another caller", "b", "q", 0, nil, false},
		{"of another question", "a", "p", 0, nil, false},
		{"malformed", "a", "q", 0, func(string) string { return "%" }, false},
		{"of another process", "a", "q", 0, func(c string) string { return "eA" + c }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			now := time.Unix(0, 0)
			p := &lists.Pages{Now: func() time.Time { return now }}
			cursor := p.First("a", "q", listOf(3), 1).Next
			if row.cursor != nil {
				cursor = row.cursor(cursor)
			}
			now = now.Add(row.after)
			if _, err := p.Next(row.owner, row.question, cursor, 1); (err == nil) != row.isKept || err != nil && !errors.Is(err, lists.ErrExpired) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Lists that are not read to the end are bounded: the oldest goes first.
func TestPagesAreBounded(t *testing.T) {
	p := &lists.Pages{Now: func() time.Time { return time.Unix(0, 0) }}
	first := p.First("a", "q", listOf(2), 1).Next
	last := ""
	for range 256 {
		last = p.First("a", "q", listOf(2), 1).Next
	}
	if _, err := p.Next("a", "q", first, 1); !errors.Is(err, lists.ErrExpired) {
		t.Errorf("got %v for the oldest", err)
	}
	if _, err := p.Next("a", "q", last, 1); err != nil {
		t.Errorf("got %v for the newest", err)
	}
}
