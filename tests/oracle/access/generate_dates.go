package access

import (
	"slices"
	"time"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/random"
)

// bounds are the times at which documents begin and end, in order. Some are the same
// instant in another spelling, and the first and the last are out of a clock's reach.
var bounds = []string{
	"0001-01-01T00:00:00Z", "1677-09-21T00:12:43.145224193Z", "1969-12-31T23:59:59.999999999Z",
	"2024-02-29T23:59:59.5Z", "2026-03-01T09:00:00Z", "2026-03-01T11:00:00+01:00", "2026-03-01T10:00:00.000000001Z",
	"2026-03-01T10:30:00.1234-23:59", "2262-04-11T23:47:16.854775806Z", "2262-04-11T23:47:16.854775808Z", "9999-12-31T23:59:59.999999999Z",
}

// GenerateDated generates a world with dates, sessions and deny policies, and lays it out as
// files.
func GenerateDated(seed uint64) (map[string]string, *World) {
	g := dated(seed)
	return g.write(), g.World
}

// GenerateRedated generates the world of GenerateDated after an edit: some documents have
// other dates, and some sessions another state, or are gone.
func GenerateRedated(seed uint64) (map[string]string, *World) {
	g := dated(seed)
	draw := random.New(seed, 21)
	redate := func(d *oracle.Dates) {
		if draw.Once(3) {
			*d = dates(draw)
		}
	}
	for _, b := range g.World.OriginBindings {
		redate(&b.Dates)
	}
	for _, b := range g.World.KubernetesBindings {
		redate(&b.Dates)
	}
	for _, p := range g.World.DenyPolicies {
		redate(&p.Dates)
	}
	g.World.ChangeSessions(draw, bounds)
	return g.write(), g.World
}

func dated(seed uint64) *Generator {
	g := &Generator{Source: random.New(seed, 9), World: &World{Master: "master", Extensions: Extensions, Seed: seed}, Taken: map[string]bool{}}
	g.Origin()
	g.Kubernetes()
	if !g.Once(5) {
		g.Everything()
	}
	g.World.Denials.Generate(g.Source)
	g.World.Denials.GenerateTenants(random.New(seed, 16))
	if !g.Once(4) {
		g.World.GenerateSessions(g.Source, bounds)
	}
	for _, b := range g.World.OriginBindings {
		b.Dates = dates(g.Source)
	}
	for _, b := range g.World.KubernetesBindings {
		b.Dates = dates(g.Source)
	}
	for _, p := range g.World.DenyPolicies {
		p.Dates = dates(g.Source)
	}
	return g
}

// dates draws the dates of a document, none for one in three.
func dates(g random.Source) oracle.Dates {
	var d oracle.Dates
	if g.Once(3) {
		return d
	}
	from := g.IntN(len(bounds) - 1)
	until := from + 1 + g.IntN(len(bounds)-from-1)
	if !g.Once(3) {
		d.NotBefore = bounds[from]
	}
	if !g.Once(3) {
		d.NotAfter = bounds[until]
	}
	return d
}

// Instants returns times around all bounds that documents may have, and around the ends of
// the sessions of worlds, as far as a clock reaches, in order: each bound, and one nanosecond
// before and after it.
func Instants(worlds ...*World) []time.Time {
	var ends, out []time.Time
	for _, text := range bounds {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			panic(err) // the bounds are valid
		}
		ends = append(ends, at)
	}
	for _, w := range worlds {
		for _, s := range w.Sessions {
			if s.Expires != "" {
				ends = append(ends, s.End())
			}
		}
	}
	for _, at := range ends {
		for _, distance := range []time.Duration{-time.Nanosecond, 0, time.Nanosecond} {
			if t := at.Add(distance); time.Unix(0, t.UnixNano()).Equal(t) {
				out = append(out, t)
			}
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}
