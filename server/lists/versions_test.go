package lists_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/server/lists"
)

// made returns a list of NAME=LABEL[:OBJECT,OBJECT].
func made(items ...string) *lists.List {
	l := new(lists.List)
	for _, text := range items {
		text, objects, isNamed := strings.Cut(text, ":")
		name, label, _ := strings.Cut(text, "=")
		i := lists.Item{Namespace: &lists.Namespace{Name: name, Labels: map[string]string{"l": label}}, Names: filter.Names{IsAny: true}}
		if isNamed {
			i.Names = filter.Names{List: strings.Split(objects, ",")}
		}
		l.Items = append(l.Items, i)
	}
	return l
}

func TestChanges(t *testing.T) {
	for _, row := range []struct {
		name          string
		before, after *lists.List
		want          string
	}{
		{"nothing", made(), made(), ""},
		{"the same", made("a=1", "b=1:x"), made("a=1", "b=1:x"), ""},
		{"all are new", made(), made("a=1", "b=1"), "+a +b"},
		{"all are gone", made("a=1", "b=1"), made(), "-a -b"},
		{"one in the middle", made("a=1", "c=1"), made("a=1", "b=1", "c=1"), "+b"},
		{"another label", made("a=1", "b=1"), made("a=1", "b=2"), "~b"},
		{"another name", made("a=1:x"), made("a=1:x,y"), "~a"},
		{"every name", made("a=1:x"), made("a=1"), "~a"},
		{"what is gone comes first", made("b=1", "c=1"), made("a=1", "b=2"), "-c +a ~b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for _, c := range lists.Changes(row.before, row.after) {
				switch {
				case c.After == nil:
					got = append(got, "-"+c.Before.Name)
				case c.Before == nil:
					got = append(got, "+"+c.After.Name)
				default:
					got = append(got, "~"+c.After.Name)
				}
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("got %v, want %s", got, row.want)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	clock := func() time.Time { return now }
	v, other := &lists.Versions{Now: clock}, &lists.Versions{Now: clock}
	first := v.Of("k", made("a=1"))
	if again := v.Of("k", made("a=1")); again != first {
		t.Errorf("the same list has the numbers %d and %d", first, again)
	}
	now = now.Add(-time.Hour) // a clock that is set back
	second := v.Of("k", made("a=2"))
	if second-lists.Steps <= first {
		t.Errorf("number %d follows %d: the changes have no numbers between", second, first)
	}
	if v.At("k", second) == nil || v.At("k", first) != nil || v.At("x", second) != nil || v.At("k", second-1) != nil || other.At("k", second) != nil {
		t.Error("another list is found, or none")
	}
	v.Keep("k", first, made("a=1"))
	if v.At("k", second) == nil {
		t.Error("an older list replaces a newer one")
	}
	now = now.Add(time.Minute)
	if v.At("k", second) != nil {
		t.Error("a list is kept for more than a minute")
	}
	v.Keep("k", second, made("a=2"))
	if v.At("k", second) == nil {
		t.Error("a list that is kept again is not found")
	}
	third := v.Of("b", made())
	for i := range 5000 {
		v.Of(fmt.Sprint(i), made())
	}
	if v.At("b", third) != nil || v.At("k", second) != nil {
		t.Error("the number of lists that are kept is not bounded")
	}
	numbers := map[uint64]bool{}
	for range 100 { // processes that begin at one time
		numbers[(&lists.Versions{Now: clock}).Of("k", made())] = true
	}
	if len(numbers) < 50 {
		t.Errorf("100 processes have %d numbers", len(numbers))
	}
}
