package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/bundles/remote"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/source/git"
	"github.com/writ-policy/writ/translator/source/kube"
)

// SourcesHelp explains in the help of commands what they read.
const SourcesHelp = `A source is a directory, files, - for standard input, a pipe such as <(helm
template chart), REVISION:FOLDER in the git repository of the working directory,
git+https://HOST/REPO//FOLDER?ref=R, a cluster (kube:CONTEXT), or a built
bundle: a tarball, a folder, https://HOST/PATH or oci://REGISTRY/REPOSITORY:TAG.`

// Open reads and translates the sources that arguments name, as Read does, or a built bundle,
// which must be the only source.
func (d *Flags) Open(ctx context.Context, s cli.Streams, args []string, tests bool) (*Translation, error) {
	for _, arg := range args {
		switch {
		case !IsBundle(arg):
			continue
		case len(args) > 1:
			return nil, fmt.Errorf("%s: a built bundle must be the only source", arg)
		}
		if err := d.CheckBundle(arg); err != nil {
			return nil, err
		}
		b, err := ReadBundle(ctx, arg)
		if err != nil {
			return nil, err
		}
		result := &translator.Result{Tables: b.Tables, Counts: b.Manifest.Metadata.Counts}
		for _, n := range result.Counts {
			result.Documents += n
		}
		return &Translation{Result: result, bundle: b}, nil
	}
	return d.Read(ctx, s, args, tests)
}

// openMember opens one source of documents.
func (d *Flags) openMember(arg string, in io.Reader) (source.Member, error) {
	if arg == "-" {
		return source.Member{Location: source.Location{Dir: arg}, Source: streamOf(standardInput, "", in)}, nil
	}
	if isPipe(arg) {
		return source.Member{Location: source.Location{Dir: arg}, Source: streamOf(pipeInput, arg, nil)}, nil
	}
	if revision, folder, ok := strings.Cut(arg, ":"); ok && !IsLocation(arg) {
		opened, err := d.openRevision(revision, folder)
		return source.Member{Location: source.Location{Dir: arg}, Source: opened}, err
	}
	location, err := source.ParseLocation(arg)
	if err != nil {
		return source.Member{}, fmt.Errorf("%s: %w", arg, err)
	}
	m := source.Member{Location: location}
	switch {
	case location.Git != nil:
		m.Source = git.Open(git.Options{Location: *location.Git, NoIgnore: d.NoIgnore})
	case location.Kube != nil:
		if m.Source, err = kube.Open(kube.Options{Location: *location.Kube, Kinds: translator.ServedKinds(), Annotations: d.Annotations}); err != nil {
			return m, fmt.Errorf("%s: %w", arg, err)
		}
	default:
		if err := CheckDirectory(arg); err != nil {
			return m, err
		}
		m.Source = source.Dir(arg, source.DirOptions{NoIgnore: d.NoIgnore})
	}
	return m, nil
}

// IsLocation reports whether an argument is a path that exists, a URL or a cluster. Other
// arguments with a colon are REVISION:FOLDER.
func IsLocation(arg string) bool {
	return Exists(arg) || strings.Contains(arg, "://") || strings.HasPrefix(arg, diag.ObjectPrefix)
}

func (d *Flags) openRevision(revision, folder string) (source.Source, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	checkout, err := git.OpenCheckout(dir)
	if err != nil {
		return nil, fmt.Errorf("%s:%s: %w", revision, folder, err)
	}
	commit, err := checkout.Resolve(revision)
	if err != nil {
		return nil, fmt.Errorf("%s:%s: %w", revision, folder, err)
	}
	return once(func(ctx context.Context) (source.Snapshot, diag.List, error) {
		return checkout.Snapshot(ctx, commit, folder, d.NoIgnore)
	}), nil
}

// once is a source that a command reads once and does not watch.
type once func(ctx context.Context) (source.Snapshot, diag.List, error)

func (o once) Snapshot(ctx context.Context) (source.Snapshot, diag.List, error) { return o(ctx) }

func (o once) Watch(context.Context, func()) error {
	return errors.New("the source cannot be watched")
}

// standardInput and pipeInput are the file names in diagnostics for standard input and for a
// pipe. JSON is a subset of YAML, so one name serves both. The names of two pipes are equal,
// so that writ diff compares their lines.
const (
	standardInput = "stdin.yaml"
	pipeInput     = "pipe.yaml"
)

// streamOf returns documents that are read from in, or from the pipe at path.
func streamOf(name, path string, in io.Reader) once {
	return func(context.Context) (source.Snapshot, diag.List, error) {
		if in == nil {
			file, err := os.Open(path)
			if err != nil {
				return source.Snapshot{}, nil, err
			}
			defer file.Close()
			in = file
		}
		content, err := io.ReadAll(io.LimitReader(in, source.DefaultMaxFileBytes+1))
		if err != nil {
			return source.Snapshot{}, nil, fmt.Errorf("read documents: %w", err)
		}
		if len(content) > source.DefaultMaxFileBytes {
			return source.Snapshot{}, nil, fmt.Errorf("read documents: more than %d bytes", source.DefaultMaxFileBytes)
		}
		if bytes.HasPrefix(content, gzipMagic) {
			return source.Snapshot{}, nil, errors.New("read documents: the input is a compressed file; write a bundle to a file first")
		}
		file := source.NewFile(name, content)
		return source.Snapshot{Files: []source.File{file}}, nil, nil
	}
}

// AreStreams reports whether all sources are pipes or standard input, which may be without
// documents: an unmounted volume is a directory.
func AreStreams(args []string) bool {
	for _, arg := range args {
		if arg != "-" && !isPipe(arg) {
			return false
		}
	}
	return len(args) > 0
}

// isPipe reports whether a path is a pipe, as the shell names one for <(command).
func isPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) != 0
}

// Exists reports whether a file or folder exists at a path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// gzipMagic begins a gzip file.
var gzipMagic = []byte{0x1f, 0x8b}

// IsBundle reports whether an argument is a built bundle: a URL, a folder with a manifest, or
// a compressed file.
func IsBundle(arg string) bool {
	if scheme, _, isURL := strings.Cut(arg, "://"); isURL {
		return scheme == "https" || scheme == "http" || scheme == "oci" || scheme == "file"
	}
	info, err := os.Stat(arg)
	switch {
	case err != nil || source.IsDocument(arg):
		return false
	case info.IsDir():
		return Exists(filepath.Join(arg, bundles.ManifestPath))
	case !info.Mode().IsRegular():
		return false
	}
	switch filepath.Ext(arg) {
	case ".gz", ".tgz":
		return true
	}
	file, err := os.Open(arg)
	if err != nil {
		return false
	}
	defer file.Close()
	begin := make([]byte, len(gzipMagic))
	_, err = io.ReadFull(file, begin)
	return err == nil && bytes.Equal(begin, gzipMagic)
}

// ReadBundle reads a built bundle: a tarball, a folder, or one at a URL, with the credentials
// of docker login for a registry.
func ReadBundle(ctx context.Context, path string) (b *bundles.Bundle, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return bundles.ReadDir(path)
	}
	if !strings.Contains(path, "://") {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read bundle: %w", err)
		}
		defer file.Close()
		return bundles.Read(file)
	}
	feed, err := remote.Open(remote.Options{Location: path, Wait: -1}) // no long polling
	if err != nil {
		return nil, err
	}
	err = progress.Do(ctx, progress.Fetch, func(ctx context.Context) error {
		body, err := feed.Fetch(ctx)
		if err != nil {
			return err
		}
		defer body.Close()
		b, err = bundles.Read(body)
		return err
	})
	return b, err
}
