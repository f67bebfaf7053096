# The boot sector of a guest that has a network card (ne2k_pci) and answers ARP and pings for one IPv4 address, 200 times a
# second; it obeys its power button. Its address and that of its card stand at `ip` and `mac`. guests.py has it in hexadecimal:
#   clang-19 --target=i386-linux-gnu -c answers.S -o answers.o
#   ld.lld-19 -m elf_i386 -Ttext=0x7c00 --oformat=binary answers.o -o answers.bin
# The card's memory: one packet to send at 0x4000, the ring of those received from 0x4600 to 0x8000.
.code16
.set P, 0x8000
.globl _start
_start:
  jmp go
  .org 4
ip:  .byte 10,1,1,10
mac: .byte 0x52,0x54,0,0,0,1
base: .word 0
go:
  xorw %ax,%ax
  movw %ax,%ds
  movw %ax,%es
  movw %ax,%ss
  movw $0x7c00,%sp
  cld
# the timer 200 times a second
  movb $0x34,%al
  outb %al,$0x43
  movw $5966,%ax
  outb %al,$0x40
  movb %ah,%al
  outb %al,$0x40
# power button
  movw $0x602,%dx
  movw $0x100,%ax
  outw %ax,%dx
# find the card: 10ec:8029
  movl $0x80000000,%ebx
1: movl %ebx,%eax
  movw $0xcf8,%dx
  outl %eax,%dx
  movw $0xcfc,%dx
  inl %dx,%eax
  cmpl $0x802910ec,%eax
  je 2f
  addl $0x800,%ebx
  jmp 1b
2: leal 0x10(%ebx),%eax
  movw $0xcf8,%dx
  outl %eax,%dx
  movw $0xcfc,%dx
  inl %dx,%eax
  andb $0xf0,%al
  movw %ax,base
# set it up from a table of register, value
  movw $setup,%si
3: lodsw
  cmpb $0xff,%al
  je loop
  call put
  jmp 3b
# register al of the card = ah
put:
  pushw %dx
  movw base,%dx
  addb %al,%dl
  movb %ah,%al
  outb %al,%dx
  popw %dx
  ret
# remote transfer of cx bytes at bx of the card; command al (0x0a read, 0x12 write); dx is its data port after
remote:
  pushw %ax
  movw $0x4007,%ax
  call put
  movb $8,%al
  movb %bl,%ah
  call put
  movb $9,%al
  movb %bh,%ah
  call put
  movb $10,%al
  movb %cl,%ah
  call put
  movb $11,%al
  movb %ch,%ah
  call put
  popw %ax
  movb %al,%ah
  xorb %al,%al
  call put
  movw base,%dx
  addb $0x10,%dl
  ret
setup:
  .byte 0x00,0x21, 0x0e,0x48, 0x0a,0x00, 0x0b,0x00, 0x0c,0x04, 0x0d,0x00
  .byte 0x01,0x46, 0x02,0x80, 0x03,0x46, 0x04,0x40, 0x07,0xff, 0x0f,0x00
  .byte 0x00,0x61, 0x07,0x46, 0x00,0x22, 0xff,0xff
loop:
  sti
  hlt
  movw $0x600,%dx
  inw %dx,%ax
  testb $1,%ah
  jz again
  movw $0x604,%dx
  movw $0x2000,%ax
  outw %ax,%dx
again:
# anything in the ring?
  movw $0x6200,%ax
  call put
  movw base,%dx
  addb $7,%dl
  inb %dx,%al
  movb %al,%cl
  movw $0x2200,%ax
  call put
  movw base,%dx
  addb $3,%dl
  inb %dx,%al
  cmpb %al,%cl
  je loop
# its header, at bnry<<8
  movb %al,%bh
  xorb %bl,%bl
  movw $4,%cx
  movb $0x0a,%al
  call remote
  movw $P-4,%di
  rep insb
  addw $4,%bx
  movw P-2,%cx
  subw $4,%cx
  pushw %cx
  movb $0x0a,%al
  call remote
  movw $P,%di
  rep insb
  popw %cx
# done with it
  movb $3,%al
  movb P-3,%ah
  call put
  movl ip,%eax
  movw P+12,%bp
  cmpw $0x0608,%bp
  je arp
  cmpw $0x0008,%bp
  jne again
  cmpb $1,P+23
  jne again
  cmpb $8,P+34
  jne again
  cmpl %eax,P+30
  jne again
  movb $0,P+34
  addb $8,P+36
  adcb $0,P+37
  adcb $0,P+36
  xchgl %eax,P+26
  movl %eax,P+30
  jmp send
arp:
  cmpb $1,P+21
  jne again
  cmpl %eax,P+38
  jne again
  movb $2,P+21
  movw $P+22,%si
  movw $P+32,%di
  movw $10,%cx
  rep movsb
  movw $mac,%si
  movw $P+22,%di
  movw $6,%cx
  rep movsb
  movl %eax,P+28
  movw $60,%cx
send:
  movl P+6,%eax
  movl %eax,P
  movw P+10,%ax
  movw %ax,P+4
  movw $mac,%si
  movw $P+6,%di
  pushw %cx
  movw $6,%cx
  rep movsb
  popw %cx
  pushw %cx
  movw $0x4000,%bx
  movb $0x12,%al
  call remote
  movw $P,%si
  rep outsb
  popw %cx
  movb $5,%al
  movb %cl,%ah
  call put
  movb $6,%al
  movb %ch,%ah
  call put
  movw $0x2600,%ax
  call put
  jmp again
