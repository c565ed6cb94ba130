package gateway

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Many hostnames are looked up, and a few compared one by one, with one result.
func TestHostnamesAreFoundAsCompared(t *testing.T) {
	label := rapid.SampledFrom([]string{"a", "b", "ab"})
	hostname := rapid.Custom(func(t *rapid.T) string {
		host := ""
		for range rapid.IntRange(0, 3).Draw(t, "labels") {
			host += label.Draw(t, "label") + "."
		}
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			return ""
		case 1:
			return "*." + host + "x"
		}
		return host + "x"
	})
	met := 0
	rapid.Check(t, func(t *rapid.T) {
		few := hostnames{list: rapid.SliceOfN(hostname, 1, 12).Draw(t, "route")}
		many := hostnames{list: few.list, set: newHostSet()}
		for _, host := range few.list {
			many.set.add(host)
		}
		listener := hostname.Draw(t, "listener")
		got, want := many.common(listener), few.common(listener)
		if !slices.Equal(got, want) || many.meet(listener) != few.meet(listener) || few.meet(listener) != (len(want) > 0) {
			t.Fatalf("listener %q and %q: got %q, %t, want %q, %t", listener, few.list, got, many.meet(listener), want, few.meet(listener))
		}
		met += len(want)
	})
	if met == 0 {
		t.Error("no hostnames met")
	}
	if many := hostnamesOf(slices.Repeat([]string{"a.x"}, 100)); many.set == nil {
		t.Error("many hostnames are not looked up")
	}
}
