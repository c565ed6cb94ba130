package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/writ-policy/writ/translator/source"
)

// packPattern names what is fetched, for as long as it has a name.
const packPattern = "fetch-*"

// storePack writes what comes to a file, all of it or none. The file has no name: it
// is gone when it is closed, and when the process ends however it ends.
func storePack(o *Options, r io.Reader) (billy.File, error) {
	f, err := packFile(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("make room for a fetch: %w", source.TrimPath(err))
	}
	if _, err = io.Copy(f, r); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, source.TrimPath(err)
	}
	return f, nil
}

// packFile is an empty file without a name. What another version left in the folder
// for fetches is removed first.
func packFile(dir string) (billy.File, error) {
	if dir == "" {
		dir = os.TempDir()
	} else {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		left, _ := filepath.Glob(filepath.Join(dir, packPattern)) // the pattern is good
		for _, path := range left {
			os.RemoveAll(path)
		}
	}
	f, err := os.CreateTemp(dir, packPattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return unnamed{f}, nil
}

// unnamed is a file that nobody else can find, let alone lock.
type unnamed struct{ *os.File }

func (unnamed) Lock() error   { return nil }
func (unnamed) Unlock() error { return nil }

// openPack reads what is in a pack. It is looked through before anything is made of
// it: what a few bytes unpack to must not fill the memory.
func openPack(ctx context.Context, f billy.File, o *Options) (objectStore, error) {
	var large *tooMuch
	if err := checkPack(ctx, bufio.NewReaderSize(f, 1<<16), o); errors.As(err, &large) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("what the server sent is no whole pack: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, source.TrimPath(err)
	}
	index := &idxfile.Writer{}
	parser, err := packfile.NewParser(packfile.NewScanner(f), index)
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse(); err != nil {
		return nil, fmt.Errorf("what the server sent is no whole pack: %w", err)
	}
	found, err := index.Index()
	if err != nil {
		return nil, err
	}
	pack := packfile.NewPackfileWithCache(found, nil, f, cache.NewObjectLRUDefault(), 0)
	return checkedObjects{memory.NewStorage(), func(_ plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
		return pack.Get(hash)
	}}, nil
}

// checkPack unpacks everything once, into nothing, to know how much it is.
func checkPack(ctx context.Context, r io.Reader, o *Options) error {
	scanner := packfile.NewScanner(r)
	_, count, err := scanner.Header()
	if err != nil {
		return wholly(err)
	}
	if int64(count) > int64(o.Limits.MaxEntries) {
		return &tooMuch{fmt.Sprintf("the commit has more than the %d objects that are fetched", o.Limits.MaxEntries)}
	}
	var total int64
	for range count {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		size, err := checkObject(scanner, o.MaxFetch/8)
		if err != nil {
			return wholly(err)
		}
		if total += size; total > o.MaxFetch {
			return &tooMuch{fmt.Sprintf("the commit has more than the %d bytes that are fetched, unpacked", o.MaxFetch)}
		}
	}
	if _, err := scanner.Checksum(); err != nil {
		return wholly(err)
	}
	return nil
}

// checkObject unpacks the next object and is its size; a difference to another
// object counts with what it makes of that.
func checkObject(scanner *packfile.Scanner, most int64) (int64, error) {
	header, err := scanner.NextObjectHeader()
	if err != nil {
		return 0, err
	}
	large := &tooMuch{fmt.Sprintf("the commit has an object of more than the %d bytes that are fetched", most)}
	if header.Length < 0 || header.Length > most {
		return 0, large
	}
	var head prefix
	n, _, err := scanner.NextObject(&head)
	if err != nil {
		return 0, err
	}
	if n != header.Length {
		return 0, fmt.Errorf("an object of %d bytes has %d", header.Length, n)
	}
	if !header.Type.IsDelta() {
		return n, nil
	}
	size, err := head.result()
	if err != nil {
		return 0, err
	}
	if size > most {
		return 0, large
	}
	return max(n, size), nil
}

// prefix keeps the first bytes that are written.
type prefix struct {
	bytes [20]byte // two numbers of seven bits a byte
	n     int
}

func (p *prefix) Write(b []byte) (int, error) {
	p.n += copy(p.bytes[p.n:], b)
	return len(b), nil
}

// result is the second number a difference begins with: the size of what it makes.
func (p *prefix) result() (int64, error) {
	rest := p.bytes[:p.n]
	var number int64
	for range 2 {
		number = 0
		for shift := 0; ; shift += 7 {
			if len(rest) == 0 || shift > 56 {
				return 0, errors.New("a difference without its size")
			}
			b := rest[0]
			rest = rest[1:]
			number |= int64(b&0x7f) << shift
			if b < 0x80 {
				break
			}
		}
	}
	return number, nil
}

// wholly says of an end that it came too early.
func wholly(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
