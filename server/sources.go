package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-policy/writ/bundles/remote"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/api/admin"
	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/source/git"
	"github.com/writ-policy/writ/translator/source/kube"
)

// sources are the sources of documents, in directories and git repositories, or the
// source of built bundles.
type sources struct {
	location  string
	documents *source.Union        // nil if bundles are served
	kube      *source.KubeLocation // the cluster of documents, nil without one
	feed      *remote.Feed         // nil if documents are served
	poke      func()               // polls at once; nil for directories
	again     func()               // delivers the last bundle once more; nil if documents are served
	keys      *keys                // one must have signed a bundle; nil means no signatures
	gitKeys   *git.Keys            // one must have signed a commit; nil means no signatures
	// repositories and directories are the sources of documents by location.
	repositories map[string]*git.Repository
	directories  map[string]string
}

// of returns the documents, nil if bundles are served.
func (s *sources) of() source.Source {
	if s.documents == nil {
		return nil // a nil *Union in the interface would not be nil
	}
	return s.documents
}

// openSources opens the sources that the configuration names. It returns an error if a
// location is malformed, or if a file of keys or authorities cannot be read.
func (s *Server) openSources() error {
	if s.config.Bundle.Location != "" {
		limits.CollectToward(0)
		return s.openFeed()
	}
	s.sources.repositories, s.sources.directories = make(map[string]*git.Repository), make(map[string]string)
	members := make([]source.Member, len(s.config.Policies))
	texts := make([]string, len(members))
	for i, text := range s.config.Policies {
		location, err := source.ParseLocation(text)
		if err != nil {
			return fmt.Errorf("the policies: %w", err)
		}
		members[i].Location, texts[i] = location, location.String()
		if members[i].Source, err = s.openSource(location); err != nil {
			return err
		}
	}
	union, err := source.Join(members, source.UnionOptions{Now: s.config.Now})
	if err != nil {
		return fmt.Errorf("the policies: %w", err)
	}
	s.sources.location, s.sources.documents = strings.Join(texts, ", "), union
	return nil
}

// openSource opens one source of documents.
func (s *Server) openSource(location source.Location) (source.Source, error) {
	if location.Kube != nil {
		s.sources.kube = location.Kube
		cluster, err := kube.Open(kube.Options{
			Location: *location.Kube, Kinds: translator.ServedKinds(), Settle: s.config.Settle, Rescan: s.config.Rescan,
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", location, err)
		}
		return cluster, nil
	}
	if location.Git == nil {
		s.sources.directories[location.String()] = location.Dir
		return source.Dir(location.Dir, source.DirOptions{
			Settle: s.config.Settle, Rescan: s.config.Rescan, NoIgnore: s.config.NoIgnore, Logger: s.log,
		}), nil
	}
	repository, err := s.openRepository(location.Git)
	if err != nil {
		return nil, err
	}
	s.sources.repositories[location.String()] = repository
	before := s.sources.poke
	s.sources.poke = func() {
		repository.Poke()
		if before != nil {
			before()
		}
	}
	return repository, nil
}

func (s *Server) openRepository(location *source.GitLocation) (_ *git.Repository, err error) {
	o := git.Options{Location: *location, NoIgnore: s.config.NoIgnore, Interval: s.config.Every, MaxFetch: s.config.Git.MaxFetch, Logger: s.log}
	if s.config.StateDir != "" {
		o.Dir = filepath.Join(s.config.StateDir, s.gitFolder(location))
	}
	credentials := s.config.Git
	o.Credentials = credentials.For
	if credentials.KnownHosts != "" {
		if _, err := credentials.For(o.Location); err != nil {
			return nil, err
		}
	}
	if s.config.Git.Keys != "" {
		if o.Keys, err = git.ReadKeys(git.KeyFiles{Allowed: s.config.Git.Keys, Revoked: s.config.Git.RevokedKeys}); err != nil {
			return nil, err
		}
		s.sources.gitKeys, o.Base = o.Keys, s.baseCommit
	}
	if s.config.Git.CA != "" {
		o.CABundle = s.gitAuthorities
		if _, err := s.gitAuthorities(); err != nil {
			return nil, err
		}
	}
	return git.Open(o), nil
}

// gitFolder is the folder of a repository in the state directory: one for each of several.
func (s *Server) gitFolder(location *source.GitLocation) string {
	if s.config.repositories() == 1 {
		return "git"
	}
	hash := sha256.Sum256([]byte(source.Location{Git: location}.String()))
	return "git-" + hex.EncodeToString(hash[:8])
}

// baseCommit returns the commit that a new one must descend from: the last active one or, at
// a first start, the configured one. An old commit has a valid signature as well.
func (s *Server) baseCommit() (string, error) {
	commit, err := s.reloader.LastCommit()
	return cmp.Or(commit, s.config.Git.MinCommit), err
}

// gitAuthorities reads the authorities of git servers. It returns an error if the file
// cannot be read or contains no certificate.
func (s *Server) gitAuthorities() ([]byte, error) {
	content, err := os.ReadFile(s.config.Git.CA)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the authorities of git servers: %w", err)
	case !x509.NewCertPool().AppendCertsFromPEM(content):
		return nil, fmt.Errorf("read the authorities of git servers: %s contains no certificate", s.config.Git.CA)
	}
	return content, nil
}

func (s *Server) openFeed() error {
	c := &s.config
	o := remote.Options{
		Location: c.Bundle.Location, Credentials: c.Bundle.Registry,
		PlainHTTP: c.Bundle.PlainHTTP, Every: c.Every, Logger: s.log, Failed: func(err error) { s.reloader.Failed(err) }, Current: func() { s.reloader.Confirm() },
	}
	var k *keys
	var err error
	if c.Bundle.Config != "" {
		if o.Config, err = remote.ReadConfig(c.Bundle.Config); err != nil {
			return err
		}
	}
	if c.Bundle.Keys != "" {
		if k, err = s.readKeys(c.Bundle.Keys); err != nil {
			return err
		}
		o.Keys, o.Verifying = k.Keys, k.refresh
	}
	feed, err := remote.Open(o)
	if err != nil {
		return err
	}
	s.sources = sources{location: feed.Status().Location, feed: feed, poke: feed.Poke, again: feed.Again, keys: k}
	return nil
}

// deliver activates the stored bundle, so that requests are answered before the source
// is reached, and then bundles from the source until ctx is done.
func (s *Server) deliver(ctx context.Context) {
	s.reloader.Restore(ctx)
	for ctx.Err() == nil {
		if err := s.sources.feed.Run(ctx, s.reloader.Deliver); err != nil {
			s.log.Error("the source of bundles failed", "error", err, "retry", watchAgain)
			pause(ctx, watchAgain)
		}
	}
}

// secret reads the secret of POST /v1/poke. It is read for each request, so that it can
// be changed. It returns nil, which no request matches, if the file cannot be read.
func (s *Server) secret() []byte {
	content, err := os.ReadFile(s.config.PokeSecret)
	if err != nil {
		s.requests.Error("the secret of POST /v1/poke cannot be read", "error", err)
		return nil
	}
	return trimLine(content)
}

func trimLine(content []byte) []byte {
	for len(content) > 0 && (content[len(content)-1] == '\n' || content[len(content)-1] == '\r') {
		content = content[:len(content)-1]
	}
	return content
}

// revisionStore is a Reloader as the endpoints of operators use it.
type revisionStore struct {
	*reload.Reloader
	withObservers func(context.Context) context.Context
}

func (k revisionStore) Revisions() (any, error) {
	kept, err := k.Reloader.Revisions()
	return elements.NotNil(kept), toAPIError(err)
}

func (k revisionStore) Rollback(ctx context.Context, revision string) error {
	return toAPIError(k.Reloader.Rollback(k.withObservers(ctx), revision))
}

func (k revisionStore) Release(ctx context.Context) error {
	return toAPIError(k.Reloader.Release(k.withObservers(ctx)))
}

func (k revisionStore) Accept(ctx context.Context, commit string) error {
	return toAPIError(k.Reloader.Accept(k.withObservers(ctx), commit))
}

func toAPIError(err error) error {
	switch {
	case errors.Is(err, reload.ErrNotKept):
		return errors.Join(admin.ErrNotKept, err)
	case errors.Is(err, reload.ErrNoState):
		return errors.Join(admin.ErrNoState, err)
	case errors.Is(err, reload.ErrNotCommit):
		return errors.Join(admin.ErrNotCommit, err)
	case errors.Is(err, reload.ErrNotPinned):
		return errors.Join(admin.ErrNotPinned, err)
	}
	return err
}
