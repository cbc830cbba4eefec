# minbert: a minimal deep-learning framework to read beside papers.
#
#   make               every program and benchmark, in build/bin, and build/libminbert.a
#   make demo          trains the multitask example on data/mini, with LayerNorm, with conditional LayerNorm and
#                      from scratch, in about two minutes
#   make study         every figure and table of the documents that have a program, on data/mini, and a page of them
#                      all, build/study/index.html; GRID=quick: in seconds; JOBS=2: so many runs side by side;
#                      MODEL=data/models/minilm DATA=data: on real data from data/download.sh, build/study-real
#   make mini          writes data/mini again from data/grammar.txt
#   make mini-bert     pre-trains data/mini/bert again, the encoder that the demo starts from, in some 20 minutes
#   make install       copies the program minbert with its commands, library, headers, data and pages to /usr/local or
#                      to PREFIX=DIR; DESTDIR=DIR: below that folder. make uninstall, with the same options, removes
#                      what it copied
#   make test          the tests, the framework's in double, too (gradient checks), and on the GPU where there is one;
#                      T=norm: those with "norm" in their name
#   make test-kernels  both with each of OpenBLAS's kernels that the processor can run, or with those of
#                      KERNELS="Prescott Haswell"
#   make asan-test     the same tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   make memcheck      with a GPU: tests there under compute-sanitizer, its memcheck and racecheck
#   make bench         the benchmark, with a page of it; ARGS=--quick: in about two minutes; ARGS="--against FILE":
#                      beside another build; PEERS_PYTHON=FOLDER/bin/python: with that PyTorch; DEVICE=cuda: on the GPU
#   make rehearsal     the GPU's code on the CPU, thread by thread, and the tests on it: what can be known without a GPU
#   make lint          checks the form of the sources: blanks, tabs, lines over 120 columns (100 in src and
#                      include), #pragma once; that no room includes one above it; that minbert.h
#                      includes every public header; lines that a README quotes
#   make walkthroughs  runs the commands of the walkthroughs, the README files that print what to expect, and compares
#   make recipes       builds and runs examples/recipes: nine things that one adds to BERT, and minbert from Python;
#                      RECIPE=lion: one of them
#   make lab           N=4 TO=../lab4: a copy for a student to write the functions of lab 4 in; examples/labs/README.md
#   make grade         in that copy: its points; N=4: those of lab 4 here
#   make check-paper   in that copy: which numbers of answers.md, derived on paper, are right
#   make hand-in       ID=12345678, in that copy: packs what the student hands in
#   make grade-hand-ins  N=4 FOLDER=../class: grades the hand-ins in that folder, into its grades.csv
#   make check-labs    that the labs' functions are found, that each costs points where it is empty, and so do wrong
#                      solutions; N=4: of lab 4
#   make course        SECRET=word TO=../course: two folders, student/ without any solution, with numbers drawn from the
#                      secret, and staff/ with all that who teaches needs
#   make gradescope    N=4 TO=../lab4.zip, in staff/: an autograder of lab 4 for Gradescope
#   make papers        the five documents beside their code: build/papers/index.html
#   make deps          finds what the build needs and installs it, where that takes no question
#   make clean         removes build/
#
# Every target that builds looks for missing packages first. Options, all given as NAME=VALUE:
#   INSTALL=0          install nothing: print the command that would, and stop
#   CUDA=auto|0|1      a GPU backend where nvcc and a GPU are found (auto), never, or with nvcc alone
#   MPI=auto|0|1       training on several processes (mpirun) where Open MPI or MPICH is found (auto), never, or surely
#   CUBLAS=FOLDER      cuBLAS's include/ and lib/, where they are not beside nvcc
#   DEPS=FOLDER        Debian's packages, unpacked there by who may not install them: src/INSTALL.md, "Without root"
#   CUDA_ARCHS="80 90" compute capabilities to compile for, rising; newer ones are served by the last
#   MARCH=x86-64-v3    the processor to compile for; native, unless given: this machine's
#   CXX=g++-13         another compiler            WERROR=1   warnings are errors, as in CI
#   PYTHON=python3     for the recipe that needs numpy
#   V=1                show whole commands         T, ARGS, RECIPE, N, TO, ID, FOLDER, SECRET   see above
VERSION     := 0.9.0
SHELL       := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)   # a -j of yours wins
endif

# The copy of a lab, or of all (make lab, make course), has options of its own.
-include lab.mk

# g++ 12 sees overlaps and overflows inside std::string that are not there (GCC bug 105651); clang++ warns of loops that
# it does not vectorise, although the pragma leaves it free to, and its -Wconversion also means signs.
CUDA     ?= auto
MPI      ?= auto
INSTALL  ?= 1
MARCH    ?= native
PREFIX   ?= /usr/local
WERROR   ?= 0
WARNINGS := -Wall -Wextra -Wshadow -Wconversion $(if $(filter 0,$(WERROR)),,-Werror) \
  $(if $(findstring clang,$(shell $(CXX) --version 2>/dev/null)),-Wno-pass-failed -Wno-sign-conversion,\
  -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
# g++ by itself fills half of AVX-512's registers.
WIDE     := $(if $(findstring x86_64,$(shell uname -m)),-mprefer-vector-width=512)
FLAGS    := -std=c++20 -O3 -march=$(MARCH) $(WIDE) -fno-math-errno -fopenmp $(WARNINGS) \
  -Iinclude -Isrc -Iexamples -Itests -I.
CUDA_ARCHS ?= 80 90
ifdef DEPS
multiarch := $(shell $(CXX) -print-multiarch)
unpacked  := $(abspath $(DEPS))/usr/lib/$(multiarch)
BLAS      := -isystem $(abspath $(DEPS))/usr/include/$(multiarch)/openblas-openmp -L$(unpacked)/openblas-openmp \
  -Wl,--disable-new-dtags -Wl,-rpath,$(unpacked)/openblas-openmp -L$(unpacked) -Wl,-rpath,$(unpacked) -lopenblas
export BLAS
export CPATH := $(abspath $(DEPS))/usr/include
endif
export CXX CUDA CUBLAS MPI CUDA_ARCHS MARCH INSTALL FLAGS

# What this machine has: .build/probe writes FOUND_*, CUDA_* and so on when it differs from last time. Every object
# depends on that, none on CUDA=0|1|auto, which chooses between two builds. And the commit, of this repository, not of
# one around it.
NO_BUILD := help clean deps lint uninstall check-paper
ifneq ($(filter-out $(NO_BUILD),$(or $(MAKECMDGOALS),all)),)
include build/config.mk
endif
build/config.mk: FORCE
	@.build/deps && .build/probe $@
	@printf '#define MINBERT_%s "%s"\n' VERSION $(VERSION) COMMIT "$$(GIT_CEILING_DIRECTORIES=$$(dirname "$$PWD") \
	  git describe --always --dirty 2>/dev/null || echo unknown)" > build/commit.h.new
	@cmp -s build/commit.h.new build/commit.h || cp build/commit.h.new build/commit.h
	@missing=$$(sed -n 's/^NO_CUDA *:= *//p' $@); [ "$(CUDA)" != 1 ] || [ -z "$$missing" ] || \
	  { echo "minbert: CUDA=1, but $$missing. Install CUDA Toolkit 12.5 or later with cuBLAS or build" \
	  "without CUDA=1" >&2; exit 1; }
$(foreach option,CUDA MPI,$(if $(filter 0 1 auto,$($(option))),, \
  $(error minbert: $(option)=$($(option)) is none of auto, 0, 1)))
GPU_BACKEND := $(if $(NO_CUDA),,$(if $(filter auto,$(CUDA)),$(filter-out 0,$(GPUS)),$(filter 1,$(CUDA))))

find        = $(shell find $(1) -name '*.cpp' | LC_ALL=C sort)
LIBRARY    := $(call find,src)
ROOMS      := report models runs inside companion papers
EXAMPLES   := $(wildcard examples/*.cpp) $(call find,$(ROOMS:%=examples/%))
MAINS      := $(shell grep -l '^int main' $(EXAMPLES))
STUDIES    := $(filter-out $(MAINS),$(EXAMPLES))
TEST_FILES := $(wildcard tests/*.cpp tests/*/test_*.cpp)
BENCHMARK  := $(wildcard tests/bench/*.cpp)
WORLD      := $(wildcard data/*.cpp)
GRAMMAR    := $(filter-out data/make_mini.cpp,$(WORLD))
COMMANDS   := bag_of_words conditional_layer_norm encode export inside isotropy layernorm_tuning multitask norms \
  predict pretrain task_adaptation tokenize transformer_norms vocabulary
PROGRAMS   := $(notdir $(basename $(MAINS))) make-mini bench
# A program is linked with the rooms of examples/ whose headers it includes, and with those whose headers these include;
# and with what stands beside the programs.
INCLUDES   := $(sort $(shell grep -roE '^#include "[a-z]+/' examples tests/bench | sed 's/:.*"/:/; s/.$$//'))
included    = $(filter $(ROOMS),$(subst :, ,$(filter $(1)%,$(INCLUDES))))
with_theirs = $(sort $(foreach room,$(1),$(room) $(call included,examples/$(room)/)))
all_rooms   = $(if $(filter-out $(1),$(call with_theirs,$(1))),$(call all_rooms,$(call with_theirs,$(1))),$(1))
rooms_of    = $(call all_rooms,$(call included,$(1)))
studies_of  = $(filter $(wildcard examples/*.cpp) $(patsubst %,examples/%/%.cpp,$(call rooms_of,$(1))),$(STUDIES))
KERNEL_FILES := $(shell grep -rl --include='*.cpp' '^.include ".*launch\.h"' src | LC_ALL=C sort)
Q          := $(if $(V),,@)

# A build is a folder of objects, what its flags add to FLAGS, and what it has beside the library. The GPU's flags
# change few files; all others have their objects from the build without a GPU.
FLAGS_cpu       :=
# Its tests need no speed of it, and -O1 compiles in a tenth less.
FLAGS_double    := -DMINBERT_DOUBLE -O1
# GCC's warning of uninitialised memory is wrong beside a sanitizer (std::regex, GCC 12); the plain build has it.
FLAGS_asan      := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
  -Wno-maybe-uninitialized
FLAGS_cuda      := -DMINBERT_CUDA -DMINBERT_CUDA_LEAST=$(firstword $(CUDA_ARCHS)) $(CUDA_INCLUDE)
FLAGS_rehearsal := -DMINBERT_CUDA -DMINBERT_CUDA_LEAST=80 -DMINBERT_REHEARSAL -Itests/rehearsal -O1 -g1
FLAGS_rehearsal-double := $(FLAGS_rehearsal) -DMINBERT_DOUBLE
LIBS_cuda       := $(CUDA_LIBRARIES)
# In double, and lane by lane: the framework and its tests
NOT_double      := $(filter-out %/isotropy.cpp,$(call find,$(addprefix examples/,papers inside companion))) \
  $(wildcard tests/*/test_*.cpp)
NOT_rehearsal   := $(NOT_double)
NOT_rehearsal-double := $(NOT_double)
ALSO_rehearsal  := $(wildcard tests/rehearsal/*.cpp)
ALSO_rehearsal-double := $(ALSO_rehearsal)
GPU_FILES  := $(KERNEL_FILES) $(ALSO_rehearsal) \
  $(shell grep -rlE --include='*.cpp' '^#if.*MINBERT_(CUDA|REHEARSAL)' src tests)
# What a build compiles itself; all else it takes from its host, and what a course has GIVEN (lab.mk) from given/. The
# tests' own code is not sanitized; an inline function that it shares with the library is, since the first object of a
# program gives it.
HOST_cuda             := cpu
OWN_cuda              := $(GPU_FILES)
HOST_rehearsal        := cpu
OWN_rehearsal         := $(GPU_FILES)
HOST_rehearsal-double := double
OWN_rehearsal-double  := $(GPU_FILES)
HOST_asan             := cpu
OWN_asan              := $(LIBRARY) $(STUDIES) $(shell grep -l __SANITIZE_ADDRESS__ $(TEST_FILES))
compiler_of = $(if $(filter-out $(OWN_$(1)),$(2)),$(or $(HOST_$(1)),$(1)),$(1))
place_of    = $(if $(filter $(GIVEN),$(1)),given,build)
objects     = $(foreach file,$(2),$(call place_of,$(file))/$(call compiler_of,$(1),$(file))/$(file:.cpp=.o))

# A line for each file that is made: [ 43/96] cpu  src/nn/module.cpp. make expands recipes one after the other, each
# just before it runs, so a variable can count them; `make -n` says how many there will be, and the lines have no
# numbers where it fails.
UNCOUNTED = build/config.mk lab grade grade-hand-ins check-labs course gradescope hand-in
total = $(eval total := $(shell MAKEFLAGS='$(subst ','\'',$(MAKEFLAGS))' $(MAKE) -n total=0 \
  $(filter-out $(UNCOUNTED),$(MAKECMDGOALS)) 2> /dev/null | grep -c '^printf .*%s  %s'))$(total)
number = $(if $(filter-out 0,$(total)),[%3d/$(total)] ,%.0s)
say = @$(eval said += x)printf '$(number)%s  %s\n' $(words $(said)) $(1) $(2)

# The standard library's headers, parsed once a build: else that is a third of the work on every file. A file includes
# what it uses, as without them; a compiler that cannot use what was prepared reads std.h.
STD := algorithm array cmath cstdint filesystem functional iostream map memory numeric optional ranges set span \
  sstream string vector
build/std.h:
	@mkdir -p build
	@printf '#include <%s>\n' $(STD) > $@
export CCACHE_SLOPPINESS ?= pch_defines,time_macros
export CCACHE_PCH_EXTSUM ?= 1

define BUILD
build/$(1)/std-O0.h.gch build/$(1)/std-O3.h.gch: build/$(1)/std-%.h.gch: build/std.h build/config.mk
	@mkdir -p $$(@D)
	$$(call say,$(1),"std.h -$$*")
	$$(Q)cp -p $$< $$(@:.gch=) && cp $$< $$@.sum
	$$(Q)$(CXX) $(FLAGS) $$(FLAGS_$(1)) $$(FOUND_FLAGS) -$$* -x c++-header $$< -o $$@
build/$(1)/%.o: %.cpp build/config.mk | build/$(1)/std-O3.h.gch
	$$(call compile,$(1))
LIBRARY_$(1) := $$(call objects,$(1),$$(LIBRARY) $$(ALSO_$(1))) $(CHOICE)
TEST_$(1) := $$(LIBRARY_$(1)) $$(call objects,$(1),$$(filter-out $$(NOT_$(1)),$$(STUDIES) $$(TEST_FILES)) $$(GRAMMAR))
build/test-$(1): $$(TEST_$(1))
	$$(call link,$$(FLAGS_$(1)),$$(LIBS_$(1)))
build/control-$(1): $$(filter-out %/control.o,$$(TEST_$(1))) build/control.o
	$$(call link,$$(FLAGS_$(1)),$$(LIBS_$(1)))
build/$(1)/bin/bench: $$(call objects,$(1),$$(BENCHMARK) $$(call studies_of,tests/bench/)) $$(LIBRARY_$(1))
	$$(call link,$$(FLAGS_$(1)),$$(LIBS_$(1)) -ldl)
build/$(1)/bin/make-mini: $$(call objects,$(1),$$(WORLD)) $$(LIBRARY_$(1))
	$$(call link,$$(FLAGS_$(1)),$$(LIBS_$(1)))
endef
define PROGRAM
build/$(1)/bin/$(notdir $(basename $(2))): $$(call objects,$(1),$(2) $$(call studies_of,$(2))) $$(LIBRARY_$(1))
	$$(call link,$$(FLAGS_$(1)),$$(LIBS_$(1)))
endef
define compile
	@mkdir -p $(@D)
	$(call say,$(1),$<)
	$(Q)$(CXX) $(FLAGS) $(FLAGS_$(1)) $(FOUND_FLAGS) -include build/$(1)/std-$(if $(filter -O0,$(OPTIMISE)),O0,O3).h \
	  $(OPTIMISE) -MMD -MP -c $< -o $@
endef
define link
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CXX) $(FLAGS) $(1) $(filter %.o,$^) -o $@ $(FOUND_LIBRARIES) $(MPI_LIBRARIES) $(2)
endef
BUILDS := cpu double asan cuda rehearsal rehearsal-double
$(foreach build,$(BUILDS),$(eval $(call BUILD,$(build))) \
  $(foreach main,$(MAINS),$(eval $(call PROGRAM,$(build),$(main)))))

# nvcc compiles each kernel file for both devices. Calling a host function from a kernel is an error, not a warning.
comma      := ,
NVCC_FLAGS := -x cu -std=c++20 -O3 --expt-relaxed-constexpr --Werror cross-execution-space-call \
  -Iinclude -Isrc -Xcompiler -fopenmp,-march=$(MARCH)$(addprefix $(comma),$(WIDE)),-fno-math-errno $(FLAGS_cuda) \
  $(filter -D%,$(FOUND_FLAGS)) \
  $(foreach arch,$(CUDA_ARCHS),-gencode arch=compute_$(arch)$(comma)code=sm_$(arch)) \
  -gencode arch=compute_$(lastword $(CUDA_ARCHS)),code=compute_$(lastword $(CUDA_ARCHS))
$(KERNEL_FILES:%.cpp=build/cuda/%.o): build/cuda/%.o: %.cpp build/config.mk
	@mkdir -p $(@D)
	$(call say,nvcc,$<)
	$(Q)$(NVCC) $(NVCC_FLAGS) -MMD -MP -c $< -o $@
# Optimising costs a third of the compile time. What has no loop over numbers of its own needs none: these rooms of
# src, and programs without `pragma omp`.
AROUND   := $(EXAMPLES) $(WORLD) $(BENCHMARK)
NO_LOOPS := $(call find,$(addprefix src/,train tasks bert files)) \
  $(filter-out $(shell grep -l 'pragma omp' $(AROUND)),$(AROUND))
$(foreach build,cpu double cuda,$(NO_LOOPS:%.cpp=build/$(build)/%.o)): OPTIMISE += -O1
# doctest's macros cost most of the compile time, and tests need no speed of their own.
$(TEST_FILES:%.cpp=build/cpu/%.o) $(TEST_FILES:%.cpp=build/double/%.o): OPTIMISE := -O0
$(foreach build,cpu double,$(eval $(TEST_FILES:%.cpp=build/$(build)/%.o): | build/$(build)/std-O0.h.gch))

# The tests' control: the same program, where no test passes (.build/grade).
build/control.o: tests/control.cpp
	$(call say,control,$<)
	$(Q)$(CXX) $(FLAGS) -DMINBERT_CONTROL -c $< -o $@

# The file that includes mpi.h.
$(patsubst %,build/%/src/engine/ranks.o,$(BUILDS)): OPTIMISE = $(MPI_FLAGS)

# The file that includes md4c-html.h, and what is linked with it
$(BUILDS:%=build/%/examples/companion/walk.o): OPTIMISE += $(MD4C_FLAGS)
$(BUILDS:%=build/%/bin/companion) $(addprefix build/test-,cpu asan cuda) build/control-cpu: \
  FOUND_LIBRARIES += $(MD4C_LIBRARIES)

# Programs say which version and commit they are of: --version, studies.
ABOUT := $(BUILDS:%=build/%/src/files/about.o)
$(ABOUT): build/commit.h
$(ABOUT): OPTIMISE = -include build/commit.h

# Pages have their scripts and their style in them: the strings page_js, page_css, ...
define PAGE
$(BUILDS:%=build/%/examples/$(1)/page.o): build/$(1)_page.h
$(BUILDS:%=build/%/examples/$(1)/page.o): OPTIMISE = -include build/$(1)_page.h
build/$(1)_page.h: $(wildcard examples/$(1)/*.js examples/$(1)/*.css)
endef
$(foreach room,inside companion,$(eval $(call PAGE,$(room))))
build/inside_page.h build/companion_page.h:
	@mkdir -p build
	@for file in $^; do \
	  echo "inline constexpr char $$(basename $$file | tr . _)[] = R\"file($$(cat $$file))file\";"; done > $@

# build/bin is the last plain build: a link to build/cpu/bin, or to build/cuda/bin with the GPU backend.
PLAIN := $(if $(GPU_BACKEND),cuda,cpu)
all: programs build/libminbert.a
# build/flags: what compiles and links a program of one's own, as g++ mine.cpp @build/flags -o mine
define archive
	$(call say,ar,$@)
	$(Q)rm -f $@ && ar rcs $@ $(filter %.o,$^)
	@echo '-std=c++20 -fopenmp $(2) "-I$(CURDIR)/include" "$(CURDIR)/$@" $(LIBRARIES)' > $(1)
endef
LIBRARIES = $(FOUND_LIBRARIES) $(MPI_LIBRARIES) $(LIBS_$(PLAIN))
build/libminbert.a: $(LIBRARY_$(PLAIN))
	$(call archive,build/flags)
programs: $(PROGRAMS:%=build/$(PLAIN)/bin/%)
	@ln -sfn $(PLAIN)/bin build/bin
$(PROGRAMS:%=build/bin/%): build/bin/%: build/$(PLAIN)/bin/% FORCE
	@ln -sfn $(PLAIN)/bin build/bin
install: all
	@.build/install "$(DESTDIR)" "$(PREFIX)" $(VERSION) "$(LIBRARIES)" $(COMMANDS)
uninstall:
	@.build/install "$(DESTDIR)" "$(PREFIX)"
# The library in double, for programs of one's own that ask gradient_error: autograd.h
build/libminbert-double.a: $(LIBRARY_double)
	$(call archive,build/flags-double,-DMINBERT_DOUBLE)

test: programs build/test-$(PLAIN) build/test-double
	@.build/run-tests "$(T)" build/test-$(PLAIN) build/test-double $(if $(GPU_BACKEND),"build/test-cuda --device cuda")
	@rm -rf build/mini && build/bin/make-mini --out build/mini > /dev/null
	@diff -rq --exclude=bert build/mini data/mini || { echo "data/mini is not what make-mini writes: make mini"; exit 1; }
has = $(shell grep -qw $(1) /proc/cpuinfo && echo $(2))
KERNELS ?= $(if $(filter x86_64,$(shell uname -m)),Prescott Nehalem $(call has,avx,Sandybridge) \
  $(call has,avx2,Haswell Zen) $(call has,avx512bw,SkylakeX),armv8)
test-kernels: build/test-cpu build/test-double
	@.build/run-tests "$(T)" $(foreach k,$(KERNELS),"build/test-cpu --kernels $k" "build/test-double --kernels $k")
asan-test: build/test-asan
	@.build/run-tests "$(T)" build/test-asan

demo: $(addprefix build/bin/,multitask inside predict)
	@rm -rf build/demo
	@$(if $(SOURCES),echo "Lab $(N): what follows is compiled with your $(strip $(SOURCES))")
	@echo "A BERT pre-trained on data/mini/corpus.txt, fine-tuned in two ways, and the same network from scratch:"
	build/bin/multitask --model data/mini/bert --data data/mini --compare --from-scratch --epochs 4 --batch 16 \
	  --lr 3e-4 --warmup 0.1 --schedule linear --sampling round-robin --dropout 0.1 --out build/demo
	@echo; echo "The three beside each other: build/demo/report.html; from there each one by itself, with what it confuses"
	@echo "Each one's folder: build/demo/VARIANT/seed-11711, with run.json, predictions/, model/, steps.csv, epochs.csv"
	@echo "Ask one:  build/bin/predict --model build/demo/conditional-layer/seed-11711 --task sst 'a fine film'"
	@echo "See inside it, beside the plain one, in a browser:"
	@build/bin/inside --model build/demo/conditional-layer/seed-11711 --compare build/demo/layer/seed-11711 \
	  --text "The film is not dull, but the plot is a mess." --task sst --label 1 --out build/demo/inside.html

DOCUMENTS := conditional_layer_norm isotropy task_adaptation layernorm_tuning transformer_norms
GRID    ?= reduced
JOBS    ?= 1
DATA    ?= data
study: $(addprefix build/bin/,$(DOCUMENTS) study_index companion)
	@$(if $(MODEL),examples/papers/real.sh $(DATA) build/study-real $(JOBS) $(MODEL),for program in $(DOCUMENTS); do \
	  build/bin/$$program --grid $(GRID) --jobs $(JOBS) --out build/study/$$program || exit; done; \
	  build/bin/study_index build/study && { build/bin/companion > build/papers.txt 2>&1 || true; })

mini: build/bin/make-mini
	build/bin/make-mini
mini-bert: build/bin/pretrain
	@rm -rf build/mini-bert
	build/bin/pretrain --corpus data/mini/corpus.txt --vocab-size 1600 --config data/mini-bert.json --page 4 \
	  --steps 30000 --batch 32 --max-length 64 --lr 1e-3 --dropout 0 --evaluate-every 1000 --f16 --out build/mini-bert
	@rm -rf data/mini/bert && cp -r build/mini-bert/model data/mini/bert

walkthroughs: all
	@.build/run-console $$(grep -rlx --include='*.md' '```console' README.md src examples tests | LC_ALL=C sort)

# Recipes are programs of one's own, as src/INSTALL.md has them: public headers and the library alone. The one in Python
# starts minbert's programs.
PYTHON    ?= python3
RECIPES   := $(patsubst examples/%.cpp,build/%,$(wildcard examples/recipes/$(or $(RECIPE),*).cpp))
IN_PYTHON := $(wildcard examples/recipes/$(or $(RECIPE),*).py)
$(RECIPES:=.o): build/%.o: examples/%.cpp build/config.mk
	@mkdir -p $(@D)
	$(call say,recipe,$<)
	$(Q)$(CXX) -std=c++20 -O2 $(WARNINGS) -fopenmp -Iinclude -MMD -MP -c $< -o $@
$(RECIPES): %: %.o build/libminbert.a
	$(Q)$(CXX) $< @build/flags -o $@
recipes: $(RECIPES) $(if $(IN_PYTHON),$(addprefix build/bin/,encode multitask predict tokenize))
	@[ -n "$(RECIPES)$(IN_PYTHON)" ] || { echo "recipes: there is no \"$(RECIPE)\"; there are:" \
	  $(sort $(basename $(notdir $(wildcard examples/recipes/*.cpp examples/recipes/*.py)))) >&2; exit 1; }
	@for recipe in $(RECIPES); do echo; echo "$$recipe"; $$recipe || exit; done
	@for recipe in $(IN_PYTHON); do echo; echo "$$recipe"; \
	  if $(PYTHON) -c 'import numpy' 2> /dev/null; then $(PYTHON) $$recipe || exit; \
	  else echo "$$recipe: not run (no numpy: apt-get install python3-numpy)"; fi; done

bench: build/bin/bench
	build/bin/bench $(if $(DEVICE),--device $(DEVICE)) $(ARGS)

# Each kernel in three orders of its threads: what depends on the order is a race.
rehearsal: build/test-rehearsal build/test-rehearsal-double $(addprefix build/rehearsal/bin/,multitask pretrain bench)
	@.build/rehearse "$(T)"

memcheck: build/test-cuda
	for tool in memcheck racecheck; do \
	  compute-sanitizer --tool $$tool --error-exitcode 1 build/test-cuda --device cuda -tc='cuda*,ops*' || exit 1; done

# Labs: examples/labs/README.md.
lab:
	+@.build/lab "$(N)" "$(TO)" $(K)
grade:
	+@SOURCES="$(SOURCES)" .build/grade "$(N)"
grade-hand-ins:
	+@.build/grade-hand-ins "$(N)" "$(FOLDER)"
check-labs:
	+@.build/check-labs $(N)
check-paper:
	@.build/check-paper "$(N)"
hand-in: $(if $(ID),grade)
	@.build/hand-in "$(N)" "$(ID)" $(SOURCES)

course:
	+@.build/course "$(SECRET)" "$(TO)"
gradescope:
	@.build/gradescope/pack "$(N)" "$(TO)"

lint:
	@.build/lint
papers: build/bin/companion
	@build/bin/companion
deps:
	@.build/deps optional && echo "deps: the build has all it needs"
clean:
	rm -rf build
help:
	@sed -n '/^[^#]/q; s/^# \{0,1\}//p' Makefile

.PHONY: all programs install uninstall test test-kernels asan-test demo study mini mini-bert walkthroughs recipes \
  bench rehearsal memcheck lab grade grade-hand-ins check-labs check-paper hand-in course gradescope lint papers deps \
  clean help FORCE
-include $(shell find build -name labs -prune -o -name '*.d' -print 2>/dev/null)
