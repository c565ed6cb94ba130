package access

import (
	"encoding/json"
	"io"
	"maps"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var generators = map[string]func(uint64) (map[string]string, *World){"Generate": Generate, "GenerateDeny": GenerateDeny}

// A seed is worth something only if it brings the same world back.
func TestEqualSeedsEqualWorlds(t *testing.T) {
	for name, generate := range generators {
		for seed := range uint64(50) {
			files, world := generate(seed)
			again, same := generate(seed)
			if !maps.Equal(files, again) {
				t.Fatalf("%s, seed %d: files differ", name, seed)
			}
			first, second := world.Requests(20), same.Requests(20)
			for i := range first {
				if got, want := first[i].JSON(), second[i].JSON(); got != want {
					t.Fatalf("%s, seed %d: request %d: got %s, want %s", name, seed, i, got, want)
				}
			}
		}
	}
}

// The place of a rule is the line where it begins: there is a brace or a dash.
func TestSources(t *testing.T) {
	rules := 0
	for seed := range uint64(100) {
		files, world := GenerateDeny(seed)
		if seed%2 == 0 {
			files, world = Generate(seed)
		}
		check := func(source string) {
			rules++
			file, line, _ := strings.Cut(source, ":")
			number, err := strconv.Atoi(line)
			lines := strings.Split(files[file], "\n")
			if err != nil || number > len(lines) {
				t.Fatalf("seed %d: source %q does not name a line", seed, source)
			}
			if text := lines[number-1]; !strings.ContainsAny(text, "{-") {
				t.Errorf("seed %d: no rule at %s: %s", seed, source, text)
			}
		}
		for _, role := range world.OriginRoles {
			for _, rule := range role.Rules {
				check(rule.Source)
			}
		}
		for _, role := range world.KubernetesRoles {
			for _, rule := range role.Rules {
				check(rule.Source)
			}
		}
		for _, p := range world.DenyPolicies {
			for _, rule := range p.Rules {
				check(rule.Source)
			}
			if p.PodSecurity == nil {
				continue
			}
			file, line, _ := strings.Cut(p.PodSecurity.Source, ":")
			number, _ := strconv.Atoi(line)
			if text := strings.Split(files[file], "\n")[number-1]; !strings.Contains(text, "podSecurityRules") {
				t.Errorf("seed %d: no podSecurityRules at %s: %s", seed, p.PodSecurity.Source, text)
			}
		}
	}
	if rules == 0 {
		t.Fatal("no rules")
	}
}

func TestFilesAreYAML(t *testing.T) {
	documents := 0
	for seed := range uint64(200) {
		files, _ := Generate(seed)
		if seed%2 == 0 {
			files, _ = GenerateDeny(seed)
		}
		for path, text := range files {
			decoder := yaml.NewDecoder(strings.NewReader(text))
			for !strings.HasSuffix(path, ".rego") {
				var document map[string]any
				if err := decoder.Decode(&document); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("seed %d: %s: %v\n%s", seed, path, err, text)
				}
				documents++
			}
		}
	}
	if documents == 0 {
		t.Fatal("no documents")
	}
}

// Random worlds must reach every outcome often, or they prove nothing.
func TestRequestsReachEverything(t *testing.T) {
	count := map[string]int{}
	const worlds, each = 200, 100
	for seed := range uint64(worlds) {
		_, world := Generate(seed)
		for _, r := range world.Requests(each) {
			if !json.Valid([]byte(r.JSON())) {
				t.Fatalf("no JSON: %s", r.JSON())
			}
			d := world.Decide(r)
			if d.Invalid != "" {
				t.Fatalf("%s: %s", r.JSON(), d.Invalid)
			}
			switch {
			case d.Allowed:
				count["allowed"]++
			case d.Denied:
				count["denied"]++
			default:
				count["neither"]++
			}
			if len(d.Matched) > 1 {
				count["several"]++
			}
			if len(d.Undecidable) > 0 {
				count["undecidable"]++
			}
			for _, e := range d.Matched {
				count["step "+strconv.Itoa(e.Step)+" "+e.APIVersion]++
			}
			if r.Path != "" && d.Allowed {
				count["path"]++
			}
		}
	}
	for name, least := range map[string]int{
		"allowed": 2000, "denied": 500, "neither": 2000, "several": 500, "undecidable": 300, "path": 20,
		"step 3 " + OriginVersion: 300, "step 4 " + OriginVersion: 300, "step 5 " + OriginVersion: 300, "step 6 " + OriginVersion: 300,
		"step 4 " + KubernetesVersion: 300, "step 6 " + KubernetesVersion: 300,
	} {
		if count[name] < least {
			t.Errorf("%s: got %d of %d, want %d", name, count[name], worlds*each, least)
		}
	}
}

// A rule that denies can never let anyone in who was not let in without it.
func TestDenialsNeverPermitMore(t *testing.T) {
	for seed := range uint64(100) {
		_, world := Generate(seed)
		_, without := Generate(seed)
		for _, role := range without.OriginRoles {
			for i, rule := range role.Rules {
				if rule.Deny {
					role.Rules[i] = &OriginRule{Verbs: []string{"-*"}, Kinds: []string{"-*"}}
				}
			}
		}
		for _, r := range world.Requests(50) {
			if world.Decide(r).Allowed && !without.Decide(r).Allowed {
				t.Fatalf("seed %d: %s is allowed only with denials", seed, r.JSON())
			}
		}
	}
}
