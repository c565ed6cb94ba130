package source

import (
	"strings"
	"testing"
)

func TestParseLocation(t *testing.T) {
	for text, want := range map[string]struct{ url, subdir, ref, dir, kube, problem string }{
		"policies":                            {dir: "policies"},
		"/git+x":                              {dir: "/git+x"},
		"git+https://host/a/b.git":            {url: "https://host/a/b.git"},
		"git+https://host/a/b.git//x/y?ref=v": {url: "https://host/a/b.git", subdir: "x/y", ref: "v"},
		"git+https://host/a//../../etc":       {url: "https://host/a", subdir: "etc"},
		"git+ssh://me@host:22/a.git//p":       {url: "ssh://host:22/a.git", subdir: "p"},
		"git+file:///srv/a.git//p?ref=x/y":    {url: "file:///srv/a.git", subdir: "p", ref: "x/y"},
		"kube:":                               {kube: "kube:"},
		"kube:prod":                           {kube: "kube:prod"},
		"kube:arn:aws:eks:x:1:cluster/a?b?namespace=n":               {kube: "kube:arn:aws:eks:x:1:cluster/a?b?namespace=n"},
		"kube:in-cluster?kinds=Role,ClusterRole,Role&namespace=shop": {kube: "kube:in-cluster?namespace=shop&kinds=ClusterRole,Role"},
		"kube:?kinds=":                    {problem: "unknown, empty or repeated"},
		"kube:?kinds=A,,B":                {problem: "list of kinds"},
		"kube:?namespace=a&namespace=b":   {problem: "unknown, empty or repeated"},
		"kube:?labels=a":                  {problem: "unknown, empty or repeated"},
		"kube:?%zz":                       {problem: "must have the form"},
		"kube:?namespace=A_b":             {problem: "namespace"},
		"kube:a\nb":                       {problem: "printable"},
		"https://host/a.git":              {problem: "git+https://HOST"},
		"git@host:a.git":                  {problem: "git+ssh://USER@HOST"},
		"git+https://u:p@host/a":          {problem: "must not contain"},
		"git+https://u@host/a":            {problem: "must not contain"},
		"git+ssh://u:p@host/a":            {problem: "must not contain"},
		"git+ftp://host/a":                {problem: "must begin with"},
		"https://u:p@host/a":              {problem: "git+https://HOST"},
		"git+https:///a":                  {problem: "no host"},
		"git+https://host":                {problem: "no repository"},
		"git+https://host/a#main":         {problem: "must not have a fragment"},
		"git+https://host/a?branch=main":  {problem: "unknown or repeated parameter"},
		"git+https://host/a?ref=a&ref=b":  {problem: "takes one ref"},
		"git+https://host/a?ref=a..b":     {problem: "is not a git reference"},
		"git+https://host/a?ref=--upload": {problem: "is not a git reference"},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := ParseLocation(text)
			if want.problem != "" {
				if err == nil || !strings.Contains(err.Error(), want.problem) || strings.Contains(err.Error(), "u:p") {
					t.Errorf("got error %v, want %q", err, want.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			git := GitLocation{}
			if got.Git != nil {
				git = *got.Git
			}
			kube := ""
			if got.Kube != nil {
				kube = got.String()
			}
			if got.Dir != want.dir || kube != want.kube || git.URL != want.url || git.Subdir != want.subdir || git.Ref != want.ref {
				t.Errorf("got %+v %+v", got, git)
			}
		})
	}
}
